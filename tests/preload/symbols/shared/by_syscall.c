/* libc's functions, by syscall(). See tests/preload/symbols/shared/by_syscall.h. */
#include "tests/preload/symbols/shared/by_syscall.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

/* Defines one function, which makes the kernel's call NUMBER with these ARGUMENTS. */
#define CALL(name, number, PARAMETERS, ...)                                                        \
    static long call_##name PARAMETERS                                                             \
    {                                                                                              \
        return syscall(number, __VA_ARGS__);                                                       \
    }

static unsigned take_mode(int flags, va_list *arguments)
{
    bool given = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
    return given ? va_arg(*arguments, unsigned) : 0;
}

static long call_openat(int dirfd, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    unsigned mode = take_mode(flags, &arguments);
    va_end(arguments);
    return syscall(SYS_openat, dirfd, path, flags, mode);
}

/* openat2 refuses flags that openat ignores, and has none of these programs' odd ones. */
static long call_openat64(int dirfd, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    struct open_how how = {.flags = (unsigned)flags, .mode = take_mode(flags, &arguments) & 07777};
    va_end(arguments);
    return syscall(SYS_openat2, dirfd, path, &how, sizeof how);
}

CALL(fstatat, SYS_newfstatat, (int fd, const char *path, struct stat *out, int flags), fd, path,
     out, flags)
CALL(statx, SYS_statx, (int fd, const char *path, int flags, unsigned mask, struct statx *out), fd,
     path, flags, mask, out)
CALL(fstat, SYS_fstat, (int fd, struct stat *out), fd, out)
CALL(faccessat, SYS_faccessat2, (int fd, const char *path, int mode, int flags), fd, path, mode,
     flags)
CALL(chdir, SYS_chdir, (const char *path), path)
CALL(fchdir, SYS_fchdir, (int fd), fd)
CALL(truncate, SYS_truncate, (const char *path, off_t bytes), path, bytes)
CALL(renameat, SYS_renameat, (int from_dir, const char *from, int to_dir, const char *to), from_dir,
     from, to_dir, to)
CALL(renameat2, SYS_renameat2,
     (int from_dir, const char *from, int to_dir, const char *to, unsigned flags), from_dir, from,
     to_dir, to, flags)
CALL(linkat, SYS_linkat, (int from_dir, const char *from, int to_dir, const char *to, int flags),
     from_dir, from, to_dir, to, flags)
CALL(unlinkat, SYS_unlinkat, (int dirfd, const char *path, int flags), dirfd, path, flags)
CALL(mkdirat, SYS_mkdirat, (int dirfd, const char *path, mode_t mode), dirfd, path, mode)
CALL(symlinkat, SYS_symlinkat, (const char *text, int dirfd, const char *path), text, dirfd, path)
CALL(mknodat, SYS_mknodat, (int dirfd, const char *path, mode_t mode, dev_t device), dirfd, path,
     mode, device)
CALL(fchownat, SYS_fchownat, (int dirfd, const char *path, uid_t uid, gid_t gid, int flags), dirfd,
     path, uid, gid, flags)
CALL(utimensat, SYS_utimensat,
     (int dirfd, const char *path, const struct timespec times[2], int flags), dirfd, path, times,
     flags)
CALL(setxattr, SYS_setxattr,
     (const char *path, const char *name, const void *value, size_t bytes, int flags), path, name,
     value, bytes, flags)
CALL(lsetxattr, SYS_lsetxattr,
     (const char *path, const char *name, const void *value, size_t bytes, int flags), path, name,
     value, bytes, flags)
CALL(removexattr, SYS_removexattr, (const char *path, const char *name), path, name)
CALL(lremovexattr, SYS_lremovexattr, (const char *path, const char *name), path, name)
CALL(fchmod, SYS_fchmod, (int fd, mode_t mode), fd, mode)
CALL(fchown, SYS_fchown, (int fd, uid_t uid, gid_t gid), fd, uid, gid)
CALL(futimens, SYS_utimensat, (int fd, const struct timespec times[2]), fd, NULL, times, 0)
CALL(fsetxattr, SYS_fsetxattr,
     (int fd, const char *name, const void *value, size_t bytes, int flags), fd, name, value, bytes,
     flags)
CALL(fgetxattr, SYS_fgetxattr, (int fd, const char *name, void *value, size_t bytes), fd, name,
     value, bytes)
CALL(flistxattr, SYS_flistxattr, (int fd, char *list, size_t bytes), fd, list, bytes)
CALL(fremovexattr, SYS_fremovexattr, (int fd, const char *name), fd, name)
/* A call with six arguments. */
CALL(copy_file_range, SYS_copy_file_range,
     (int from, off_t *from_at, int to, off_t *to_at, size_t bytes, unsigned flags), from, from_at,
     to, to_at, bytes, flags)
static long call_fcntl(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    long argument = va_arg(arguments, long);
    va_end(arguments);
    return syscall(SYS_fcntl, fd, command, argument);
}

CALL(fstatfs, SYS_fstatfs, (int fd, struct statfs *out), fd, out)
CALL(readlinkat, SYS_readlinkat, (int dirfd, const char *path, char *out, size_t bytes), dirfd,
     path, out, bytes)
CALL(ioctl, SYS_ioctl, (int fd, unsigned long request, void *argument), fd, request, argument)
CALL(flock, SYS_flock, (int fd, int operation), fd, operation)
CALL(setreuid, SYS_setreuid, (uid_t real, uid_t effective), real, effective)
CALL(setregid, SYS_setregid, (gid_t real, gid_t effective), real, effective)
CALL(setresuid, SYS_setresuid, (uid_t real, uid_t effective, uid_t saved), real, effective, saved)
CALL(setresgid, SYS_setresgid, (gid_t real, gid_t effective, gid_t saved), real, effective, saved)
CALL(setuid, SYS_setuid, (uid_t uid), uid)
CALL(setgid, SYS_setgid, (gid_t gid), gid)
CALL(setgroups, SYS_setgroups, (size_t count, const gid_t *groups), count, groups)
CALL(setfsuid, SYS_setfsuid, (uid_t uid), uid)
CALL(setfsgid, SYS_setfsgid, (gid_t gid), gid)
CALL(capset, SYS_capset, (void *header, const void *data), header, data)

/* Calls that newer machines lack. */
#if defined(__x86_64__)
static long call_open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    unsigned mode = take_mode(flags, &arguments);
    va_end(arguments);
    return syscall(SYS_open, path, flags, mode);
}

CALL(creat, SYS_creat, (const char *path, mode_t mode), path, mode)
CALL(stat, SYS_stat, (const char *path, struct stat *out), path, out)
CALL(lstat, SYS_lstat, (const char *path, struct stat *out), path, out)
CALL(readlink, SYS_readlink, (const char *path, char *out, size_t bytes), path, out, bytes)
CALL(access, SYS_access, (const char *path, int mode), path, mode)
CALL(rename, SYS_rename, (const char *from, const char *to), from, to)
CALL(link, SYS_link, (const char *from, const char *to), from, to)
CALL(unlink, SYS_unlink, (const char *path), path)
CALL(rmdir, SYS_rmdir, (const char *path), path)
CALL(mkdir, SYS_mkdir, (const char *path, mode_t mode), path, mode)
CALL(symlink, SYS_symlink, (const char *text, const char *path), text, path)
CALL(mknod, SYS_mknod, (const char *path, mode_t mode, dev_t device), path, mode, device)
CALL(chmod, SYS_chmod, (const char *path, mode_t mode), path, mode)
CALL(chown, SYS_chown, (const char *path, uid_t uid, gid_t gid), path, uid, gid)
CALL(lchown, SYS_lchown, (const char *path, uid_t uid, gid_t gid), path, uid, gid)
CALL(utime, SYS_utime, (const char *path, const struct utimbuf *times), path, times)
CALL(utimes, SYS_utimes, (const char *path, const struct timeval times[2]), path, times)
CALL(futimesat, SYS_futimesat, (int dirfd, const char *path, const struct timeval times[2]), dirfd,
     path, times)
#define OLD(name) ENTRY(name)
#else
#define OLD(name)
#endif

#define ENTRY(name) {#name, (void *)call_##name},

static const struct {
    const char *name;
    void *function;
} calls[] = {
    ENTRY(openat) ENTRY(openat64) ENTRY(fstatat) ENTRY(statx) ENTRY(fstat) ENTRY(faccessat)
        ENTRY(chdir) ENTRY(fchdir) ENTRY(truncate) ENTRY(renameat) ENTRY(renameat2) ENTRY(linkat)
            ENTRY(unlinkat) ENTRY(mkdirat) ENTRY(symlinkat) ENTRY(mknodat) ENTRY(fchownat)
                ENTRY(utimensat) ENTRY(setxattr) ENTRY(lsetxattr) ENTRY(removexattr)
                    ENTRY(lremovexattr) ENTRY(fchmod) ENTRY(fchown) ENTRY(futimens) ENTRY(fsetxattr)
                        ENTRY(fgetxattr) ENTRY(flistxattr) ENTRY(fremovexattr)
                            ENTRY(copy_file_range) ENTRY(flock) ENTRY(fstatfs) ENTRY(readlinkat)
                                ENTRY(ioctl) ENTRY(fcntl) ENTRY(setreuid) ENTRY(setregid)
                                    ENTRY(setresuid) ENTRY(setresgid) ENTRY(setuid) ENTRY(setgid)
                                        ENTRY(setgroups) ENTRY(setfsuid) ENTRY(setfsgid)
                                            ENTRY(capset) OLD(open) OLD(creat) OLD(stat) OLD(lstat)
                                                OLD(access) OLD(readlink) OLD(rename) OLD(link)
                                                    OLD(unlink) OLD(rmdir) OLD(mkdir) OLD(symlink)
                                                        OLD(mknod) OLD(chmod) OLD(chown) OLD(lchown)
                                                            OLD(utime) OLD(utimes) OLD(futimesat)};

void *by_syscall(const char *name)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (strcmp(calls[i].name, name) == 0) {
            return calls[i].function;
        }
    }
    return NULL;
}
