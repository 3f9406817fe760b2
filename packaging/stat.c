/*
 * stat and its kin, which older versions of glibc have by other names only: part of what
 * packaging/link.sh links. On 64-bit machines the kernel's structure is glibc's.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int fstatat(int fd, const char *restrict path, struct stat *restrict out, int flags)
{
    return (int)syscall(SYS_newfstatat, fd, path, out, flags);
}

int stat(const char *restrict path, struct stat *restrict out)
{
    return fstatat(AT_FDCWD, path, out, 0);
}

int lstat(const char *restrict path, struct stat *restrict out)
{
    return fstatat(AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW);
}

int fstat(int fd, struct stat *out)
{
    return (int)syscall(SYS_fstat, fd, out);
}
