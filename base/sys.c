/* Makes the raw system calls, and falls back where a kernel or a sandbox lacks one. */
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/sysmacros.h>

#include "base/arch/syscall.h"

/* Makes a system call with up to six arguments. Those that the kernel does not want are 0. */
#define CALL(...) FILLED(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define FILLED(number, a, b, c, d, e, f, ...)                                                      \
    stk_arch_syscall6(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

#define HIGH_NUMBERS  512  /* of stk_sys_dup_high, where the limit allows twice as many */
#define INTERRUPTIONS 1000 /* in a row: what answers nothing else is not asked for ever */

/* Numbers and structures that the headers of an old system lack. */
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif
struct cachestat_v0 {
    uint64_t cached, dirty, writeback, evicted, recently_evicted;
};
#define RESOLVE_NO_XDEV_BIT     0x01u
#define RESOLVE_NO_SYMLINKS_BIT 0x04u
#define RESOLVE_BENEATH_BIT     0x08u
#define RENAME_NOREPLACE_BIT    1u
#define MFD_CLOEXEC_BIT         1u
#define MFD_NOEXEC_SEAL_BIT     8u
struct open_how_v0 {
    uint64_t flags, mode, resolve;
};

/* Old kernels say ENOSYS; old container runtimes say EPERM for calls they have never heard of. */
static bool is_unsupported(long result)
{
    return result == -ENOSYS || result == -EPERM;
}

/* ---- single calls ---- */

/* Defines a function that returns what the kernel answers to one call. */
#define ANSWER(type, name, parameters, call)                                                       \
    type name parameters                                                                           \
    {                                                                                              \
        return (type)(call);                                                                       \
    }

ANSWER(int, stk_sys_openat, (int dirfd, const char *path, int flags, mode_t mode),
       CALL(SYS_openat, dirfd, path, flags, mode))
ANSWER(int, stk_sys_close, (int fd), CALL(SYS_close, fd))
ANSWER(int, stk_sys_dup3, (int from, int to, int flags), CALL(SYS_dup3, from, to, flags))
ANSWER(int, stk_sys_dup_above, (int fd, int lowest), CALL(SYS_fcntl, fd, F_DUPFD_CLOEXEC, lowest))
ANSWER(int, stk_sys_get_status_flags, (int fd), CALL(SYS_fcntl, fd, F_GETFL))
ANSWER(int, stk_sys_set_status_flags, (int fd, int flags), CALL(SYS_fcntl, fd, F_SETFL, flags))
ANSWER(off_t, stk_sys_lseek, (int fd, off_t offset, int whence),
       CALL(SYS_lseek, fd, offset, whence))
ANSWER(ssize_t, stk_sys_read, (int fd, void *buffer, size_t bytes),
       CALL(SYS_read, fd, buffer, bytes))
ANSWER(ssize_t, stk_sys_pread, (int fd, void *buffer, size_t bytes, off_t offset),
       CALL(SYS_pread64, fd, buffer, bytes, offset))
/* Reads into several buffers. On a machine of 64 bits the offset is one word, of which the kernel
 * wants the low half first. */
ANSWER(ssize_t, stk_sys_preadv, (int fd, const struct iovec *parts, int count, off_t offset),
       CALL(SYS_preadv, fd, parts, count, offset, 0))
ANSWER(int, stk_sys_fadvise, (int fd, off_t offset, off_t bytes, int advice),
       CALL(SYS_fadvise64, fd, offset, bytes, advice))
ANSWER(int, stk_sys_write_out, (int fd),
       CALL(SYS_sync_file_range, fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE))
ANSWER(int, stk_sys_fstatat, (int dirfd, const char *path, struct stat *out, int flags),
       CALL(SYS_newfstatat, dirfd, path, out, flags))
ANSWER(int, stk_sys_statfs, (const char *path, struct statfs *out), CALL(SYS_statfs, path, out))
ANSWER(int, stk_sys_fstatfs, (int fd, struct statfs *out), CALL(SYS_fstatfs, fd, out))
ANSWER(int, stk_sys_ioctl, (int fd, unsigned long request, void *data),
       CALL(SYS_ioctl, fd, request, data))
ANSWER(int, stk_sys_faccessat, (int dirfd, const char *path, int mode),
       CALL(SYS_faccessat, dirfd, path, mode))
ANSWER(ssize_t, stk_sys_readlinkat, (int dirfd, const char *path, char *buffer, size_t bytes),
       CALL(SYS_readlinkat, dirfd, path, buffer, bytes))
ANSWER(ssize_t, stk_sys_getcwd, (char *buffer, size_t bytes), CALL(SYS_getcwd, buffer, bytes))
ANSWER(int, stk_sys_mkdirat, (int dirfd, const char *path, mode_t mode),
       CALL(SYS_mkdirat, dirfd, path, mode))
ANSWER(int, stk_sys_unlinkat, (int dirfd, const char *path, int flags),
       CALL(SYS_unlinkat, dirfd, path, flags))
ANSWER(int, stk_sys_chmod, (const char *path, mode_t mode),
       CALL(SYS_fchmodat, AT_FDCWD, path, mode))
ANSWER(int, stk_sys_fchmod, (int fd, mode_t mode), CALL(SYS_fchmod, fd, mode))
ANSWER(int, stk_sys_set_attribute,
       (const char *path, const char *name, const void *value, size_t bytes),
       CALL(SYS_lsetxattr, path, name, value, bytes, 0))
ANSWER(int, stk_sys_remove_attribute, (int fd, const char *name), CALL(SYS_fremovexattr, fd, name))
ANSWER(ssize_t, stk_sys_getdents, (int fd, void *buffer, size_t bytes),
       CALL(SYS_getdents64, fd, buffer, bytes))
ANSWER(long, stk_sys_map,
       (void *address, size_t bytes, int protection, int flags, int fd, off_t offset),
       CALL(SYS_mmap, address, bytes, protection, flags, fd, offset))
ANSWER(int, stk_sys_madvise, (void *address, size_t bytes, int advice),
       CALL(SYS_madvise, address, bytes, advice))
ANSWER(int, stk_sys_mincore, (void *address, size_t bytes, unsigned char *pages),
       CALL(SYS_mincore, address, bytes, pages))
ANSWER(pid_t, stk_sys_getpid, (void), CALL(SYS_getpid))
ANSWER(uid_t, stk_sys_getuid, (void), CALL(SYS_getuid))
ANSWER(uid_t, stk_sys_geteuid, (void), CALL(SYS_geteuid))
ANSWER(int, stk_sys_getresuid, (uid_t uids[3]), CALL(SYS_getresuid, &uids[0], &uids[1], &uids[2]))
ANSWER(int, stk_sys_getresgid, (gid_t gids[3]), CALL(SYS_getresgid, &gids[0], &gids[1], &gids[2]))
ANSWER(int, stk_sys_getgroups, (int count, gid_t *groups), CALL(SYS_getgroups, count, groups))
ANSWER(gid_t, stk_sys_getegid, (void), CALL(SYS_getegid))
ANSWER(int, stk_sys_mount_nothing, (void), CALL(SYS_mount, NULL, "/", NULL, 0, NULL))
ANSWER(int, stk_sys_flock, (int fd, int operation), CALL(SYS_flock, fd, operation))
ANSWER(ssize_t, stk_sys_send, (int fd, const void *data, size_t bytes),
       CALL(SYS_sendto, fd, data, bytes, MSG_NOSIGNAL, NULL, 0))
ANSWER(ssize_t, stk_sys_receive, (int fd, void *data, size_t bytes),
       CALL(SYS_recvfrom, fd, data, bytes, 0, NULL, NULL))

/* ---- calls with more to them ---- */

int stk_sys_open_nolinks(const char *path, int flags)
{
    struct open_how_v0 how = {.flags = (uint64_t)(unsigned)flags,
                              .resolve = RESOLVE_NO_SYMLINKS_BIT};
    long result = CALL(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
    /* openat2 refuses flags that openat ignores: the plain call takes them */
    if (is_unsupported(result) || result == -EINVAL) {
        result = CALL(SYS_openat, AT_FDCWD, path, flags, 0);
    }
    return (int)result;
}

int stk_sys_open_own(const char *path, int flags)
{
    return stk_sys_open_nolinks(path, flags | O_NOATIME);
}

int stk_sys_open_beneath(int dirfd, const char *path, int flags)
{
    struct open_how_v0 how = {.flags = (uint64_t)(unsigned)flags,
                              .resolve = RESOLVE_NO_XDEV_BIT | RESOLVE_NO_SYMLINKS_BIT |
                                         RESOLVE_BENEATH_BIT};
    return (int)CALL(SYS_openat2, dirfd, path, &how, sizeof how);
}

void stk_sys_close_opened(int fd)
{
    if (fd >= 0) {
        stk_sys_close(fd);
    }
}

/* Gives a new file those bits that an odd umask took from its own user. The path names the file, as
 * another thread may close the number of a descriptor. */
static int mend_mode(const char *path, mode_t mode)
{
    struct stat stat = {.st_mode = 0};
    int error = stk_sys_fstatat(AT_FDCWD, path, &stat, AT_SYMLINK_NOFOLLOW);
    if (error == 0 && !S_ISLNK(stat.st_mode) && (mode & 0700 & ~stat.st_mode) != 0) {
        error = stk_sys_chmod(path, mode);
    }
    return error;
}

int stk_sys_create(const char *path, int flags, mode_t mode)
{
    flags |= O_CLOEXEC | O_NOFOLLOW;
    int fd = flags & O_EXCL ? -ENOENT : stk_sys_openat(AT_FDCWD, path, flags, 0);
    if (fd != -ENOENT) {
        return fd;
    }
    fd = stk_sys_openat(AT_FDCWD, path, flags | O_CREAT, mode);
    if (fd >= 0) {
        mend_mode(path, mode);
    }
    return fd;
}

int stk_sys_make_directory(const char *path, mode_t mode)
{
    int error = stk_sys_mkdirat(AT_FDCWD, path, mode);
    return error != 0 ? error : mend_mode(path, mode);
}

int stk_sys_opened(int fd, int error)
{
    if (fd >= 0 && error != 0) {
        stk_sys_close(fd);
        return error;
    }
    return fd;
}

void stk_sys_close_owned(const int *fd)
{
    stk_sys_close_opened(*fd);
}

bool stk_sys_is_same_open_file(int a, int b)
{
    long self = CALL(SYS_getpid);
    return CALL(SYS_kcmp, self, self, 0 /* KCMP_FILE */, a, b) == 0;
}

bool stk_sys_is_closed_on_exec(int fd)
{
    long flags = CALL(SYS_fcntl, fd, F_GETFD);
    return flags > 0 && (flags & FD_CLOEXEC) != 0;
}

/* Returns how many descriptors this process may have. If that is not known, the kernel refuses a
 * number that is too high. A low one would be the program's next. */
static uint64_t descriptor_limit(void)
{
    struct rlimit64 limit = {.rlim_cur = RLIM64_INFINITY};
    CALL(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit);
    return limit.rlim_cur;
}

int stk_sys_high_number(void)
{
    static _Atomic unsigned turn;
    uint64_t limit = descriptor_limit();
    uint64_t base = limit < 2 * HIGH_NUMBERS ? limit / 2 : HIGH_NUMBERS;
    uint64_t spread = base / 2 + 1;
    return (int)(base + atomic_fetch_add(&turn, 1) % spread);
}

int stk_sys_dup_high(int fd)
{
    return stk_sys_dup_above(fd, stk_sys_high_number());
}

ssize_t stk_sys_pread_again(int fd, void *buffer, size_t bytes, off_t offset)
{
    ssize_t got = -EINTR;
    for (int i = 0; i < INTERRUPTIONS && got == -EINTR; i++) {
        got = stk_sys_pread(fd, buffer, bytes, offset);
    }
    return got;
}

ssize_t stk_sys_pread_all(int fd, void *buffer, size_t bytes, off_t offset)
{
    size_t done = 0;
    while (done < bytes) {
        ssize_t got =
            stk_sys_pread_again(fd, (char *)buffer + done, bytes - done, offset + (off_t)done);
        if (got <= 0) {
            return got < 0 ? got : (ssize_t)done;
        }
        done += (size_t)got;
    }
    return (ssize_t)done;
}

/* Has the kernel check the list. It reads no memory, since the list of places to read from is
 * empty. */
int stk_sys_look_at_parts(const struct iovec *parts, int count)
{
    long result = CALL(SYS_process_vm_readv, 0, parts, count, NULL, 0, 0);
    return result < 0 ? (int)result : 0;
}

/* Returns true if a file may not be that long: the kernel would end the program by a signal. */
static bool is_beyond_limit(off_t end)
{
    struct rlimit64 limit = {0};
    return CALL(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) == 0 &&
           limit.rlim_cur < (uint64_t)end;
}

ssize_t stk_sys_pwrite(int fd, const void *buffer, size_t bytes, off_t offset)
{
    if (is_beyond_limit(offset + (off_t)bytes)) {
        return -EFBIG;
    }
    return CALL(SYS_pwrite64, fd, buffer, bytes, offset);
}

static ssize_t pwrite_again(int fd, const void *buffer, size_t bytes, off_t offset)
{
    ssize_t put = -EINTR;
    for (int i = 0; i < INTERRUPTIONS && put == -EINTR; i++) {
        put = stk_sys_pwrite(fd, buffer, bytes, offset);
    }
    return put;
}

int stk_sys_pwrite_all(int fd, const void *buffer, size_t bytes, off_t offset)
{
    size_t done = 0;
    while (done < bytes) {
        ssize_t put =
            pwrite_again(fd, (const char *)buffer + done, bytes - done, offset + (off_t)done);
        if (put <= 0) {
            return put == 0 ? -ENOSPC : (int)put;
        }
        done += (size_t)put;
    }
    return 0;
}

int stk_sys_fallocate(int fd, off_t offset, off_t bytes)
{
    if (is_beyond_limit(offset + bytes)) {
        return -EFBIG;
    }
    return (int)CALL(SYS_fallocate, fd, 0, offset, bytes);
}

/* Makes a memfd without the right to execute. Newer kernels may be set to refuse files that
 * programs could be run from; older kernels do not know the flag. */
int stk_sys_memfd(const char *name)
{
    long fd = CALL(SYS_memfd_create, name, MFD_CLOEXEC_BIT | MFD_NOEXEC_SEAL_BIT);
    return (int)(fd == -EINVAL ? CALL(SYS_memfd_create, name, MFD_CLOEXEC_BIT) : fd);
}

int64_t stk_sys_count_cached_in(int fd, off_t offset, off_t bytes)
{
    const uint64_t range[2] = {(uint64_t)offset, (uint64_t)bytes};
    struct cachestat_v0 found = {.cached = 0};
    long result = CALL(SYS_cachestat, fd, range, &found, 0);
    return result < 0 ? result : (int64_t)found.cached;
}

int64_t stk_sys_count_cached(int fd)
{
    return stk_sys_count_cached_in(fd, 0, 0); /* all of it */
}

int stk_sys_fstat(int fd, struct stat *out)
{
    long result = CALL(SYS_fstat, fd, out);
    if (is_unsupported(result)) { /* a sandbox may know only the calls of today's libc */
        result = CALL(SYS_newfstatat, fd, "", out, AT_EMPTY_PATH);
    }
    return (int)result;
}

struct statx_timestamp stk_sys_timestamp(struct timespec time)
{
    return (struct statx_timestamp){.tv_sec = time.tv_sec, .tv_nsec = (uint32_t)time.tv_nsec};
}

void stk_sys_statx_from_stat(struct statx *out, const struct stat *in)
{
    *out = (struct statx){
        .stx_mask = STATX_BASIC_STATS,
        .stx_blksize = (uint32_t)in->st_blksize,
        .stx_nlink = (uint32_t)in->st_nlink,
        .stx_uid = in->st_uid,
        .stx_gid = in->st_gid,
        .stx_mode = (uint16_t)in->st_mode,
        .stx_ino = in->st_ino,
        .stx_size = (uint64_t)in->st_size,
        .stx_blocks = (uint64_t)in->st_blocks,
        .stx_atime = stk_sys_timestamp(in->st_atim),
        .stx_ctime = stk_sys_timestamp(in->st_ctim),
        .stx_mtime = stk_sys_timestamp(in->st_mtim),
        .stx_dev_major = major(in->st_dev),
        .stx_dev_minor = minor(in->st_dev),
    };
}

int stk_sys_statx(int dirfd, const char *path, int flags, unsigned mask, struct statx *out)
{
    long result = CALL(SYS_statx, dirfd, path, flags, mask, out);
    if (!is_unsupported(result)) {
        return (int)result;
    }
    struct stat old = {.st_mode = 0};
    const int known = AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_SYMLINK_NOFOLLOW;
    result = CALL(SYS_newfstatat, dirfd, path, &old, flags & known);
    if (result == 0) {
        stk_sys_statx_from_stat(out, &old);
    }
    return (int)result;
}

int stk_sys_rename_noreplace(const char *from, const char *to)
{
    long result = CALL(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE_BIT);
    if (!is_unsupported(result) && result != -EINVAL) {
        return (int)result;
    }
    result = CALL(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
    if (result == 0) {
        result = CALL(SYS_unlinkat, AT_FDCWD, from, 0);
    }
    return (int)result;
}

int stk_sys_set_mtime(const char *path, struct timespec mtime)
{
    const struct timespec times[2] = {{0, UTIME_OMIT}, mtime};
    return (int)CALL(SYS_utimensat, AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
}

int stk_sys_get_attribute(const char *path, const char *name, void *value, size_t bytes)
{
    long got = CALL(SYS_lgetxattr, path, name, value, bytes);
    if (got == (long)bytes) {
        return 0;
    }
    return got < 0 ? (int)got : -ENODATA;
}

void *stk_sys_mmap(size_t bytes, int protection, int flags, int fd, off_t offset)
{
    long result = CALL(SYS_mmap, 0, bytes, protection, flags, fd, offset);
    if (result < 0 && result > -4096) {
        return NULL;
    }
    return (void *)result;
}

void *stk_sys_memory(size_t bytes)
{
    return stk_sys_mmap(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

bool stk_sys_move_map(void *from, size_t bytes, void *to)
{
    return CALL(SYS_mremap, from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == (long)to;
}

void stk_sys_munmap(void *address, size_t bytes)
{
    if (address != NULL) {
        CALL(SYS_munmap, address, bytes);
    }
}

/* Sets the mask of signals. The kernel's own set is eight bytes, on every architecture that Stoker
 * runs on. */
static void set_signals(const uint64_t *wanted, uint64_t *before)
{
    CALL(SYS_rt_sigprocmask, SIG_SETMASK, wanted, before, sizeof *wanted);
}

void stk_sys_block_signals(uint64_t *before)
{
    const uint64_t all = UINT64_MAX;
    *before = 0;
    set_signals(&all, before);
}

void stk_sys_restore_signals(const uint64_t *before)
{
    set_signals(before, NULL);
}

/* ---- memory without a file ---- */

static void *attach(int number)
{
    long at = CALL(SYS_shmat, number, NULL, 0);
    return at < 0 && at > -4096 ? NULL : (void *)at;
}

int stk_sys_shm_make(size_t bytes, void **mapped)
{
    int number = (int)CALL(SYS_shmget, IPC_PRIVATE, bytes, IPC_CREAT | SHM_NORESERVE | 0600);
    if (number < 0) {
        return number;
    }
    *mapped = attach(number);
    CALL(SYS_shmctl, number, IPC_RMID, NULL); /* stays as long as it is mapped, and can be mapped */
    return *mapped != NULL ? number : -ENOMEM;
}

void *stk_sys_shm_map(int number, size_t bytes)
{
    struct shmid_ds about = {.shm_segsz = 0};
    uid_t self = stk_sys_geteuid();
    bool ours = CALL(SYS_shmctl, number, IPC_STAT, &about) == 0 && about.shm_perm.uid == self &&
                about.shm_perm.cuid == self && (about.shm_perm.mode & 077) == 0 &&
                about.shm_segsz == bytes;
    return ours ? attach(number) : NULL;
}

uint32_t stk_sys_capabilities(void)
{
    struct {
        uint32_t version;
        int32_t pid;
    } header = {0x20080522, 0}; /* _LINUX_CAPABILITY_VERSION_3; this thread */
    struct {
        uint32_t effective, permitted, inheritable;
    } sets[2] = {{0, 0, 0}, {0, 0, 0}};
    return CALL(SYS_capget, &header, sets) == 0 ? sets[0].effective : 0;
}

bool stk_sys_has_no_new_privs(void)
{
    return CALL(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
}

bool stk_sys_process_exists(pid_t pid)
{
    return CALL(SYS_kill, pid, 0) != -ESRCH;
}

int stk_sys_hold(int fd)
{
    const struct flock whole = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    return (int)CALL(SYS_fcntl, fd, F_OFD_SETLK, &whole);
}

bool stk_sys_is_held(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return CALL(SYS_fcntl, fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

long stk_sys_call(long number, const long at[6])
{
    return stk_arch_syscall6(number, at[0], at[1], at[2], at[3], at[4], at[5]);
}

static int set_patience(int fd, int64_t patience_ns)
{
    const struct timeval patience = {.tv_sec = patience_ns / 1000000000,
                                     .tv_usec = patience_ns % 1000000000 / 1000};
    long result = CALL(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return (int)(result == 0
                     ? CALL(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience)
                     : result);
}

int stk_sys_datagram_socket(int64_t patience_ns)
{
    const sa_family_t unnamed = AF_UNIX; /* the kernel then chooses a name */
    int fd = (int)CALL(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return fd;
    }
    int error = (int)CALL(SYS_bind, fd, &unnamed, sizeof unnamed);
    return stk_sys_opened(fd, error == 0 ? set_patience(fd, patience_ns) : error);
}

int stk_sys_connect_abstract(int fd, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    if (length >= sizeof address.sun_path) {
        return -ENAMETOOLONG;
    }
    memcpy(address.sun_path + 1, name, length);
    return (int)CALL(SYS_connect, fd, &address,
                     offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

int stk_sys_futex_wait(void *word, uint32_t expected, int64_t timeout_ns)
{
    struct timespec timeout = {.tv_sec = timeout_ns / 1000000000,
                               .tv_nsec = timeout_ns % 1000000000};
    return (int)CALL(SYS_futex, word, FUTEX_WAIT, expected, &timeout);
}

void stk_sys_futex_wake_all(void *word)
{
    CALL(SYS_futex, word, FUTEX_WAKE, INT32_MAX);
}

void stk_sys_futex_wake_one(void *word)
{
    CALL(SYS_futex, word, FUTEX_WAKE, 1);
}

static int (*read_clock)(clockid_t clock, struct timespec *now);

void stk_sys_clock_by(int (*read)(clockid_t clock, struct timespec *now))
{
    read_clock = read;
}

int64_t stk_sys_clock_ns(int clock)
{
    struct timespec now = {0, 0};
    if (read_clock == NULL || read_clock(clock, &now) != 0) {
        CALL(SYS_clock_gettime, clock, &now);
    }
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
