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
#include <time.h>

#include "base/arch/syscall.h"

#define CALL0(n)          stk_arch_syscall6(SYS_##n, 0, 0, 0, 0, 0, 0)
#define CALL1(n, a)       stk_arch_syscall6(SYS_##n, (long)(a), 0, 0, 0, 0, 0)
#define CALL2(n, a, b)    stk_arch_syscall6(SYS_##n, (long)(a), (long)(b), 0, 0, 0, 0)
#define CALL3(n, a, b, c) stk_arch_syscall6(SYS_##n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define CALL4(n, a, b, c, d)                                                                       \
    stk_arch_syscall6(SYS_##n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define CALL5(n, a, b, c, d, e)                                                                    \
    stk_arch_syscall6(SYS_##n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define CALL6(n, a, b, c, d, e, f)                                                                 \
    stk_arch_syscall6(SYS_##n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

#define HIGH_NUMBERS 512 /* of stk_sys_dup_high, where the limit allows twice as many */

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

int stk_sys_openat(int dirfd, const char *path, int flags, mode_t mode)
{
    return (int)CALL4(openat, dirfd, path, flags, mode);
}

int stk_sys_open_nolinks(const char *path, int flags)
{
    struct open_how_v0 how = {.flags = (uint64_t)(unsigned)flags,
                              .resolve = RESOLVE_NO_SYMLINKS_BIT};
    long result = CALL4(openat2, AT_FDCWD, path, &how, sizeof how);
    /* openat2 refuses flags that openat ignores: the plain call takes them */
    if (is_unsupported(result) || result == -EINVAL) {
        result = CALL4(openat, AT_FDCWD, path, flags, 0);
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
    return (int)CALL4(openat2, dirfd, path, &how, sizeof how);
}

int stk_sys_close(int fd)
{
    return (int)CALL1(close, fd);
}

void stk_sys_close_opened(int fd)
{
    if (fd >= 0) {
        stk_sys_close(fd);
    }
}

void stk_sys_close_owned(const int *fd)
{
    stk_sys_close_opened(*fd);
}

int stk_sys_dup3(int from, int to, int flags)
{
    return (int)CALL3(dup3, from, to, flags);
}

int stk_sys_dup_above(int fd, int lowest)
{
    return (int)CALL3(fcntl, fd, F_DUPFD_CLOEXEC, lowest);
}

int stk_sys_get_status_flags(int fd)
{
    return (int)CALL2(fcntl, fd, F_GETFL);
}

int stk_sys_set_status_flags(int fd, int flags)
{
    return (int)CALL3(fcntl, fd, F_SETFL, flags);
}

bool stk_sys_is_same_open_file(int a, int b)
{
    long self = CALL0(getpid);
    return CALL5(kcmp, self, self, 0 /* KCMP_FILE */, a, b) == 0;
}

bool stk_sys_is_closed_on_exec(int fd)
{
    long flags = CALL2(fcntl, fd, F_GETFD);
    return flags > 0 && (flags & FD_CLOEXEC) != 0;
}

/* Returns how many descriptors this process may have. */
static uint64_t descriptor_limit(void)
{
    struct rlimit64 limit = {0};
    return CALL4(prlimit64, 0, RLIMIT_NOFILE, NULL, &limit) == 0 ? limit.rlim_cur : 0;
}

/* Duplicates to another number each time. So a number that a thread closes late is not the next
 * duplicate's. */
int stk_sys_dup_high(int fd)
{
    static _Atomic unsigned turn;
    uint64_t limit = descriptor_limit();
    uint64_t base = limit < 2 * HIGH_NUMBERS ? limit / 2 : HIGH_NUMBERS;
    uint64_t spread = base / 2 + 1;
    return stk_sys_dup_above(fd, (int)(base + atomic_fetch_add(&turn, 1) % spread));
}

off_t stk_sys_lseek(int fd, off_t offset, int whence)
{
    return CALL3(lseek, fd, offset, whence);
}

ssize_t stk_sys_read(int fd, void *buffer, size_t bytes)
{
    return CALL3(read, fd, buffer, bytes);
}

ssize_t stk_sys_pread(int fd, void *buffer, size_t bytes, off_t offset)
{
    return CALL4(pread64, fd, buffer, bytes, offset);
}

ssize_t stk_sys_pread_all(int fd, void *buffer, size_t bytes, off_t offset)
{
    size_t done = 0;
    while (done < bytes) {
        ssize_t got = stk_sys_pread(fd, (char *)buffer + done, bytes - done, offset + (off_t)done);
        if (got < 0 && got != -EINTR) {
            return got;
        }
        if (got == 0) {
            break;
        }
        done += got > 0 ? (size_t)got : 0;
    }
    return (ssize_t)done;
}

/* Reads into several buffers. On a machine of 64 bits the offset is one word, of which the kernel
 * wants the low half first. */
ssize_t stk_sys_preadv(int fd, const struct iovec *parts, int count, off_t offset)
{
    return CALL5(preadv, fd, parts, count, offset, 0);
}

/* Has the kernel check the list. It reads no memory, since the list of places to read from is
 * empty. */
int stk_sys_look_at_parts(const struct iovec *parts, int count)
{
    long result = CALL6(process_vm_readv, 0, parts, count, NULL, 0, 0);
    return result < 0 ? (int)result : 0;
}

/* Returns true if a file may not be that long: the kernel would end the program by a signal. */
static bool is_beyond_limit(off_t end)
{
    struct rlimit64 limit = {0};
    return CALL4(prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) == 0 && limit.rlim_cur < (uint64_t)end;
}

ssize_t stk_sys_pwrite(int fd, const void *buffer, size_t bytes, off_t offset)
{
    if (is_beyond_limit(offset + (off_t)bytes)) {
        return -EFBIG;
    }
    return CALL4(pwrite64, fd, buffer, bytes, offset);
}

int stk_sys_pwrite_all(int fd, const void *buffer, size_t bytes, off_t offset)
{
    size_t done = 0;
    while (done < bytes) {
        ssize_t put =
            stk_sys_pwrite(fd, (const char *)buffer + done, bytes - done, offset + (off_t)done);
        if (put <= 0 && put != -EINTR) {
            return put == 0 ? -ENOSPC : (int)put;
        }
        done += put > 0 ? (size_t)put : 0;
    }
    return 0;
}

int stk_sys_fallocate(int fd, off_t offset, off_t bytes)
{
    if (is_beyond_limit(offset + bytes)) {
        return -EFBIG;
    }
    return (int)CALL4(fallocate, fd, 0, offset, bytes);
}

/* Makes a memfd without the right to execute. Newer kernels may be set to refuse files that
 * programs could be run from; older kernels do not know the flag. */
int stk_sys_memfd(const char *name)
{
    long fd = CALL2(memfd_create, name, MFD_CLOEXEC_BIT | MFD_NOEXEC_SEAL_BIT);
    return (int)(fd == -EINVAL ? CALL2(memfd_create, name, MFD_CLOEXEC_BIT) : fd);
}

int stk_sys_fadvise(int fd, off_t offset, off_t bytes, int advice)
{
    return (int)CALL4(fadvise64, fd, offset, bytes, advice);
}

int64_t stk_sys_count_cached_in(int fd, off_t offset, off_t bytes)
{
    const uint64_t range[2] = {(uint64_t)offset, (uint64_t)bytes};
    struct cachestat_v0 found = {.cached = 0};
    long result = CALL4(cachestat, fd, range, &found, 0);
    return result < 0 ? result : (int64_t)found.cached;
}

int64_t stk_sys_count_cached(int fd)
{
    return stk_sys_count_cached_in(fd, 0, 0); /* all of it */
}

int stk_sys_write_out(int fd)
{
    return (int)CALL4(sync_file_range, fd, 0, 0,
                      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE);
}

int stk_sys_fstat(int fd, struct stat *out)
{
    long result = CALL2(fstat, fd, out);
    if (is_unsupported(result)) { /* a sandbox may know only the calls of today's libc */
        result = CALL4(newfstatat, fd, "", out, AT_EMPTY_PATH);
    }
    return (int)result;
}

int stk_sys_fstatat(int dirfd, const char *path, struct stat *out, int flags)
{
    return (int)CALL4(newfstatat, dirfd, path, out, flags);
}

static struct statx_timestamp timestamp_of(struct timespec time)
{
    return (struct statx_timestamp){.tv_sec = time.tv_sec, .tv_nsec = (uint32_t)time.tv_nsec};
}

static void statx_from_stat(struct statx *out, const struct stat *in)
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
        .stx_atime = timestamp_of(in->st_atim),
        .stx_ctime = timestamp_of(in->st_ctim),
        .stx_mtime = timestamp_of(in->st_mtim),
        .stx_dev_major = major(in->st_dev),
        .stx_dev_minor = minor(in->st_dev),
    };
}

int stk_sys_statx(int dirfd, const char *path, int flags, unsigned mask, struct statx *out)
{
    long result = CALL5(statx, dirfd, path, flags, mask, out);
    if (!is_unsupported(result)) {
        return (int)result;
    }
    struct stat old = {.st_mode = 0};
    const int known = AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_SYMLINK_NOFOLLOW;
    result = CALL4(newfstatat, dirfd, path, &old, flags & known);
    if (result == 0) {
        statx_from_stat(out, &old);
    }
    return (int)result;
}

int stk_sys_statfs(const char *path, struct statfs *out)
{
    return (int)CALL2(statfs, path, out);
}

int stk_sys_fstatfs(int fd, struct statfs *out)
{
    return (int)CALL2(fstatfs, fd, out);
}

int stk_sys_ioctl(int fd, unsigned long request, void *data)
{
    return (int)CALL3(ioctl, fd, request, data);
}

int stk_sys_faccessat(int dirfd, const char *path, int mode)
{
    return (int)CALL3(faccessat, dirfd, path, mode);
}

ssize_t stk_sys_readlinkat(int dirfd, const char *path, char *buffer, size_t bytes)
{
    return CALL4(readlinkat, dirfd, path, buffer, bytes);
}

ssize_t stk_sys_getcwd(char *buffer, size_t bytes)
{
    return CALL2(getcwd, buffer, bytes);
}

int stk_sys_mkdirat(int dirfd, const char *path, mode_t mode)
{
    return (int)CALL3(mkdirat, dirfd, path, mode);
}

int stk_sys_unlinkat(int dirfd, const char *path, int flags)
{
    return (int)CALL3(unlinkat, dirfd, path, flags);
}

int stk_sys_rename_noreplace(const char *from, const char *to)
{
    long result = CALL5(renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE_BIT);
    if (!is_unsupported(result) && result != -EINVAL) {
        return (int)result;
    }
    result = CALL5(linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
    if (result == 0) {
        result = CALL3(unlinkat, AT_FDCWD, from, 0);
    }
    return (int)result;
}

int stk_sys_chmod(const char *path, mode_t mode)
{
    return (int)CALL3(fchmodat, AT_FDCWD, path, mode);
}

int stk_sys_fchmod(int fd, mode_t mode)
{
    return (int)CALL2(fchmod, fd, mode);
}

int stk_sys_set_mtime(const char *path, struct timespec mtime)
{
    const struct timespec times[2] = {{0, UTIME_OMIT}, mtime};
    return (int)CALL4(utimensat, AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
}

int stk_sys_set_attribute(const char *path, const char *name, const void *value, size_t bytes)
{
    return (int)CALL5(lsetxattr, path, name, value, bytes, 0);
}

int stk_sys_get_attribute(const char *path, const char *name, void *value, size_t bytes)
{
    long got = CALL4(lgetxattr, path, name, value, bytes);
    if (got == (long)bytes) {
        return 0;
    }
    return got < 0 ? (int)got : -ENODATA;
}

int stk_sys_remove_attribute(int fd, const char *name)
{
    return (int)CALL2(fremovexattr, fd, name);
}

ssize_t stk_sys_getdents(int fd, void *buffer, size_t bytes)
{
    return CALL3(getdents64, fd, buffer, bytes);
}

void *stk_sys_mmap(size_t bytes, int protection, int flags, int fd, off_t offset)
{
    long result = CALL6(mmap, 0, bytes, protection, flags, fd, offset);
    if (result < 0 && result > -4096) {
        return NULL;
    }
    return (void *)result;
}

long stk_sys_map(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return CALL6(mmap, address, bytes, protection, flags, fd, offset);
}

bool stk_sys_move_map(void *from, size_t bytes, void *to)
{
    return CALL5(mremap, from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == (long)to;
}

void stk_sys_munmap(void *address, size_t bytes)
{
    CALL2(munmap, address, bytes);
}

int stk_sys_madvise(void *address, size_t bytes, int advice)
{
    return (int)CALL3(madvise, address, bytes, advice);
}

/* Sets the mask of signals. The kernel's own set is eight bytes, on every architecture that Stoker
 * runs on. */
static void set_signals(const uint64_t *wanted, uint64_t *before)
{
    CALL4(rt_sigprocmask, SIG_SETMASK, wanted, before, sizeof *wanted);
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

int stk_sys_mincore(void *address, size_t bytes, unsigned char *pages)
{
    return (int)CALL3(mincore, address, bytes, pages);
}

/* ---- memory without a file ---- */

static void *attach(int number)
{
    long at = CALL3(shmat, number, NULL, 0);
    return at < 0 && at > -4096 ? NULL : (void *)at;
}

int stk_sys_shm_make(size_t bytes, void **mapped)
{
    int number = (int)CALL3(shmget, IPC_PRIVATE, bytes, IPC_CREAT | SHM_NORESERVE | 0600);
    if (number < 0) {
        return number;
    }
    *mapped = attach(number);
    CALL3(shmctl, number, IPC_RMID, NULL); /* stays as long as it is mapped, and can be mapped */
    return *mapped != NULL ? number : -ENOMEM;
}

void *stk_sys_shm_map(int number, size_t bytes)
{
    struct shmid_ds about = {.shm_segsz = 0};
    uid_t self = stk_sys_geteuid();
    bool ours = CALL3(shmctl, number, IPC_STAT, &about) == 0 && about.shm_perm.uid == self &&
                about.shm_perm.cuid == self && (about.shm_perm.mode & 077) == 0 &&
                about.shm_segsz == bytes;
    return ours ? attach(number) : NULL;
}

pid_t stk_sys_getpid(void)
{
    return (pid_t)CALL0(getpid);
}

uid_t stk_sys_getuid(void)
{
    return (uid_t)CALL0(getuid);
}

uid_t stk_sys_geteuid(void)
{
    return (uid_t)CALL0(geteuid);
}

int stk_sys_getresuid(uid_t uids[3])
{
    return (int)CALL3(getresuid, &uids[0], &uids[1], &uids[2]);
}

int stk_sys_getresgid(gid_t gids[3])
{
    return (int)CALL3(getresgid, &gids[0], &gids[1], &gids[2]);
}

int stk_sys_getgroups(int count, gid_t *groups)
{
    return (int)CALL2(getgroups, count, groups);
}

gid_t stk_sys_getegid(void)
{
    return (gid_t)CALL0(getegid);
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
    return CALL2(capget, &header, sets) == 0 ? sets[0].effective : 0;
}

bool stk_sys_has_no_new_privs(void)
{
    return CALL5(prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
}

int stk_sys_mount_nothing(void)
{
    return (int)CALL5(mount, NULL, "/", NULL, 0, NULL);
}

bool stk_sys_process_exists(pid_t pid)
{
    return CALL2(kill, pid, 0) != -ESRCH;
}

int stk_sys_flock(int fd, int operation)
{
    return (int)CALL2(flock, fd, operation);
}

int stk_sys_hold(int fd)
{
    const struct flock whole = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    return (int)CALL3(fcntl, fd, F_OFD_SETLK, &whole);
}

bool stk_sys_is_held(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return CALL3(fcntl, fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

long stk_sys_call(long number, const long at[6])
{
    return stk_arch_syscall6(number, at[0], at[1], at[2], at[3], at[4], at[5]);
}

static int set_patience(int fd, int64_t patience_ns)
{
    const struct timeval patience = {.tv_sec = patience_ns / 1000000000,
                                     .tv_usec = patience_ns % 1000000000 / 1000};
    long result = CALL5(setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return (int)(result == 0
                     ? CALL5(setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience)
                     : result);
}

int stk_sys_datagram_socket(int64_t patience_ns)
{
    const sa_family_t unnamed = AF_UNIX; /* the kernel then chooses a name */
    int fd = (int)CALL3(socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return fd;
    }
    int error = (int)CALL3(bind, fd, &unnamed, sizeof unnamed);
    error = error == 0 ? set_patience(fd, patience_ns) : error;
    if (error != 0) {
        stk_sys_close(fd);
    }
    return error != 0 ? error : fd;
}

int stk_sys_connect_abstract(int fd, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    if (length >= sizeof address.sun_path) {
        return -ENAMETOOLONG;
    }
    memcpy(address.sun_path + 1, name, length);
    return (int)CALL3(connect, fd, &address, offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

ssize_t stk_sys_send(int fd, const void *data, size_t bytes)
{
    return CALL6(sendto, fd, data, bytes, MSG_NOSIGNAL, NULL, 0);
}

ssize_t stk_sys_receive(int fd, void *data, size_t bytes)
{
    return CALL6(recvfrom, fd, data, bytes, 0, NULL, NULL);
}

int stk_sys_futex_wait(void *word, uint32_t expected, int64_t timeout_ns)
{
    struct timespec timeout = {.tv_sec = timeout_ns / 1000000000,
                               .tv_nsec = timeout_ns % 1000000000};
    return (int)CALL4(futex, word, FUTEX_WAIT, expected, &timeout);
}

void stk_sys_futex_wake_all(void *word)
{
    CALL3(futex, word, FUTEX_WAKE, INT32_MAX);
}

void stk_sys_futex_wake_one(void *word)
{
    CALL3(futex, word, FUTEX_WAKE, 1);
}

int64_t stk_sys_clock_ns(int clock)
{
    struct timespec now = {0, 0};
    CALL2(clock_gettime, clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
