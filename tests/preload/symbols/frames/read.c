/* read, pread, readv, preadv and their kin, and mmap, of files that are cached block by block.
 * Changes nothing. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/preload/symbols/shared/frame.h"
#include "tests/preload/symbols/shared/show.h"

static const char *const files[] = {"a.bin", "sub/b.bin", "own/3",    "link",      "hard2",
                                    "empty", "sparse",    "database", "with space"};

static const struct range {
    size_t bytes;
    off_t offset;
} ranges[] = {{100, 0},    {0, 0},     {5000, 4000}, {20000, 19990}, {1, 39999},    {100, 40000},
              {10, 99999}, {8000, -1}, {8000, -2},   {30000, 100},   {10, 1L << 40}};

static char buffer[40000];

static void show_bytes(const char *label, ssize_t got, int error, int fd)
{
    uint64_t sum = 14695981039346656037u;
    for (ssize_t i = 0; i < got; i++) {
        sum = (sum ^ (unsigned char)buffer[i]) * 1099511628211u;
    }
    show_result(label, got, error);
    printf("  %016llx at %lld\n", (unsigned long long)sum, (long long)lseek(fd, 0, SEEK_CUR));
    memset(buffer, 0, sizeof buffer);
}

/* One call of a symbol, and how it ended. */
#define TRY(fd, name, type, ...)                                                                   \
    do {                                                                                           \
        char label[300];                                                                           \
        snprintf(label, sizeof label, "%s(%zu at %lld)", #name, range->bytes,                      \
                 (long long)range->offset);                                                        \
        errno = SENTINEL;                                                                          \
        ssize_t got = ((ssize_t(*) type)symbol(#name))(__VA_ARGS__);                               \
        show_bytes(label, got, errno, fd);                                                         \
    } while (0)

static void read_by_offset(int fd, const struct range *range)
{
    TRY(fd, pread, (int, void *, size_t, off_t), fd, buffer, range->bytes, range->offset);
    TRY(fd, pread64, (int, void *, size_t, off_t), fd, buffer, range->bytes, range->offset);
    TRY(fd, __pread_chk, (int, void *, size_t, off_t, size_t), fd, buffer, range->bytes,
        range->offset, sizeof buffer);
    TRY(fd, __pread64_chk, (int, void *, size_t, off_t, size_t), fd, buffer, range->bytes,
        range->offset, sizeof buffer);
}

static void read_in_parts(int fd, const struct range *range)
{
    const struct iovec parts[3] = {{buffer, range->bytes / 2},
                                   {NULL, 0},
                                   {buffer + range->bytes / 2, range->bytes - range->bytes / 2}};
    TRY(fd, preadv, (int, const struct iovec *, int, off_t), fd, parts, 3, range->offset);
    TRY(fd, preadv64, (int, const struct iovec *, int, off_t), fd, parts, 3, range->offset);
    TRY(fd, preadv2, (int, const struct iovec *, int, off_t, int), fd, parts, 3, range->offset, 0);
    TRY(fd, preadv64v2, (int, const struct iovec *, int, off_t, int), fd, parts, 3, range->offset,
        0);
    TRY(fd, readv, (int, const struct iovec *, int), fd, parts, 3);
}

static void read_on(int fd, const struct range *range)
{
    if (range->offset >= 0) {
        lseek(fd, range->offset, SEEK_SET);
    }
    TRY(fd, read, (int, void *, size_t), fd, buffer, range->bytes);
    TRY(fd, __read_chk, (int, void *, size_t, size_t), fd, buffer, range->bytes, sizeof buffer);
}

/* Asks for fetching ahead. Its effect does not show; its result is printed. */
static void fetch_ahead(int fd, const struct range *range)
{
    typedef int advise_function(int, off_t, off_t, int);
    static const char *const names[] = {"posix_fadvise", "posix_fadvise64"};
    off_t bytes = (off_t)range->bytes;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        advise_function *advise = (advise_function *)symbol(names[i]);
        SHOW(names[i], advise(fd, range->offset, bytes, POSIX_FADV_WILLNEED));
        SHOW(names[i], advise(fd, range->offset, -1, POSIX_FADV_WILLNEED));
        SHOW(names[i], advise(fd, 0, 0, POSIX_FADV_WILLNEED));
        SHOW(names[i], advise(fd, 0, 0, POSIX_FADV_NORMAL));
        SHOW(names[i], advise(fd, 0, 0, 99));
    }
    ssize_t (*ahead)(int, off_t, size_t) = (ssize_t(*)(int, off_t, size_t))symbol("readahead");
    SHOW("readahead", ahead(fd, range->offset, range->bytes));
}

static void read_range(int fd, const struct range *range)
{
    read_on(fd, range);
    fetch_ahead(fd, range);
    read_in_parts(fd, range);
    read_by_offset(fd, range);
}

static void read_file(const char *path, int flags)
{
    int fd = open(path, flags);
    printf("%s %o %s\n", path, (unsigned)flags, fd < 0 ? strerror(errno) : "");
    for (size_t i = 0; fd >= 0 && i < sizeof ranges / sizeof *ranges; i++) {
        read_range(fd, &ranges[i]);
    }
    if (fd >= 0) {
        close(fd);
    }
}

/* ---- what is read unseen ---- */

static void show_map(const char *name, int fd, int protection, int flags, off_t offset)
{
    typedef void *map_function(void *, size_t, int, int, int, off_t);
    errno = SENTINEL;
    char *map = ((map_function *)symbol(name))(NULL, 5000, protection, flags, fd, offset);
    bool mapped = map != MAP_FAILED;
    show_result(name, mapped, errno);
    struct stat stat;
    if (mapped && fstat(fd, &stat) == 0 && offset < stat.st_size) {
        memcpy(buffer, map, 1); /* behind the end there is nothing to read */
    }
    show_bytes("  mapped", mapped, SENTINEL, fd);
    if (mapped) {
        munmap(map, 5000);
    }
}

static void map_file(const char *path)
{
    int fd = open(path, O_RDONLY);
    printf("%s\n", path);
    show_map("mmap", fd, PROT_READ, MAP_SHARED, 0);
    show_map("mmap64", fd, PROT_READ | PROT_WRITE, MAP_PRIVATE, 0);
    show_map("mmap", fd, PROT_READ | PROT_WRITE, MAP_SHARED, 0);
    show_map("mmap64", fd, PROT_READ, MAP_PRIVATE, 8192);
    show_map("mmap", fd, PROT_READ, MAP_PRIVATE, 77);
    show_map("mmap", fd, PROT_READ, 0, 0);
    show_map("mmap64", fd, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, 0);
    close(fd);
    show_map("mmap", fd, PROT_READ, MAP_PRIVATE, 0); /* which is no file's any more */
}

static void stream_file(const char *path, const char *mode)
{
    FILE *(*adopt)(int, const char *) = (FILE * (*)(int, const char *)) symbol("fdopen");
    int fd = open(path, O_RDONLY);
    lseek(fd, 100, SEEK_SET);
    errno = SENTINEL;
    FILE *file = adopt(fd, mode);
    show_result("fdopen", file != NULL, errno);
    if (file == NULL) {
        close(fd);
        return;
    }
    errno = SENTINEL;
    size_t got = fread(buffer, 1, sizeof buffer, file);
    show_bytes("  read", (ssize_t)got, errno, fd);
    fclose(file);
}

/* Numbers that are no file's. */
static void read_others(void)
{
    int ends[2], closed = open("a.bin", O_RDONLY);
    close(closed);
    read_range(closed, &ranges[0]);
    if (pipe(ends) == 0) {
        read_by_offset(ends[0], &ranges[0]);
        printf("%zd\n", write(ends[1], "some bytes", 10));
        close(ends[1]); /* no reader waits for more */
        read_on(ends[0], &ranges[7]);
        close(ends[0]);
    }
    int directory = open("sub", O_RDONLY);
    read_range(directory, &ranges[0]);
    close(directory);
}

void body(void)
{
    for (int twice = 0; twice < 2; twice++) {
        for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
            read_file(files[i], O_RDONLY);
            read_file(files[i], O_RDONLY | O_PATH);
            map_file(files[i]);
            stream_file(files[i], "r");
            stream_file(files[i], "w");
            stream_file(files[i], "?");
        }
        read_others();
    }
}
