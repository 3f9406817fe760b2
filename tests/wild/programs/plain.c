/* Reads files with open, and says of each its size and a checksum, or the errno. Built in several
 * ways: fortified, with large files, static, and as a library that others load. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

void report(const char *path);
int report_all(int count, char **paths);

static uint64_t checksum(uint64_t sum, const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sum = (sum ^ bytes[i]) * 0x100000001b3;
    }
    return sum;
}

/* The flags and the length are not known to the compiler, so that fortify has something to check.
 */
static volatile int flags = O_RDONLY | O_CLOEXEC;
static volatile size_t most = 5000;

static void read_fd(const char *path, int fd)
{
    unsigned char block[5000];
    uint64_t sum = 0xcbf29ce484222325;
    long long total = 0;
    ssize_t count;
    while ((count = read(fd, block, most)) > 0) {
        sum = checksum(sum, block, (size_t)count);
        total += count;
    }
    if (pread(fd, block, most, 100) > 0) {
        sum = checksum(sum, block, 10);
    }
    struct stat facts;
    if (count < 0 || fstat(fd, &facts) != 0) {
        printf("%s: errno %d\n", path, errno);
        return;
    }
    printf("%s: %lld bytes of %lld, %016llx, inode %llu, mode %o\n", path, total,
           (long long)facts.st_size, (unsigned long long)sum, (unsigned long long)facts.st_ino,
           (unsigned)facts.st_mode);
}

static void read_stdio(const char *path)
{
    unsigned char block[3000];
    uint64_t sum = 0xcbf29ce484222325;
    FILE *file = fopen(path, "rb");
    if (!file) {
        printf("  stdio: errno %d\n", errno);
        return;
    }
    size_t count;
    while ((count = fread(block, 1, sizeof block, file)) > 0) {
        sum = checksum(sum, block, count);
    }
    printf("  stdio: %ld bytes, %016llx, error %d\n", ftell(file), (unsigned long long)sum,
           ferror(file) != 0);
    fclose(file);
}

static void read_stat(const char *path)
{
    struct stat facts;
    if (stat(path, &facts) != 0) {
        printf("  stat: errno %d\n", errno);
        return;
    }
    printf("  stat: inode %llu, size %lld, mode %o, mtime %lld.%09ld, readable %d\n",
           (unsigned long long)facts.st_ino, (long long)facts.st_size, (unsigned)facts.st_mode,
           (long long)facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec, access(path, R_OK));
}

void report(const char *path)
{
    int fd = open(path, flags);
    if (fd < 0) {
        printf("%s: errno %d\n", path, errno);
    } else {
        read_fd(path, fd);
        close(fd);
    }
    read_stdio(path);
    read_stat(path);
}

int report_all(int count, char **paths)
{
    for (int i = 0; i < count; i++) {
        report(paths[i]);
    }
    fflush(stdout);
    return 0;
}

#ifndef LIBRARY
int main(int argc, char **argv)
{
    return report_all(argc - 1, argv + 1);
}
#endif
