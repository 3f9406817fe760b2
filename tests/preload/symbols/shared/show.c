/* Prints results so that two runs can be compared. */
#include "tests/preload/symbols/shared/show.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tests/preload/symbols/shared/by_syscall.h"

#define FILES        512
#define SYMBOLS      128
#define LONG_AGO_S   1577836800 /* 2020: the data set's files and all times set by hand are older */
#define BUFFER_BYTES 65536

static const char *base_path;
static bool exact;
static struct {
    uint64_t dev, ino;
} files[FILES];
static unsigned file_count;
static const char *symbols[SYMBOLS];
static unsigned symbol_count;

void show_begin(const char *base)
{
    base_path = base;
    exact = getenv("SHOW_EXACT") != NULL;
}

void show_end(void)
{
    for (unsigned i = 0; i < symbol_count; i++) {
        printf("symbol %s\n", symbols[i]);
    }
    printf("end\n");
}

static void note_symbol(const char *name)
{
    for (unsigned i = 0; i < symbol_count; i++) {
        if (strcmp(symbols[i], name) == 0) {
            return;
        }
    }
    symbols[symbol_count++ % SYMBOLS] = name;
}

/* With SHOW_SYSCALL in the environment, returns the function that makes the call by syscall(). */
static void *find_symbol(const char *name)
{
    void *found = getenv("SHOW_SYSCALL") != NULL ? by_syscall(name) : NULL;
    if (found != NULL) {
        note_symbol("syscall");
    }
    return found != NULL ? found : dlsym(RTLD_DEFAULT, name);
}

void *symbol(const char *name)
{
    void *found = find_symbol(name);
    if (found == NULL) {
        fprintf(stderr, "no symbol %s\n", name);
        exit(1);
    }
    note_symbol(name);
    return found;
}

void show_result(const char *label, long result, int error)
{
    /* Base paths differ between two data sets. */
    const char *at = strstr(label, base_path);
    if (at != NULL) {
        printf("%.*s@%s", (int)(at - label), label, at + strlen(base_path));
    } else {
        printf("%s", label);
    }
    if (error == SENTINEL) {
        printf(" = %ld\n", result);
    } else {
        printf(" = %ld %s\n", result, strerrorname_np(error));
    }
}

/* ---- stat ---- */

static unsigned file_number(uint64_t dev, uint64_t ino)
{
    unsigned i = 0;
    while (i < file_count && (files[i].dev != dev || files[i].ino != ino)) {
        i++;
    }
    if (i == file_count && file_count < FILES) {
        files[file_count].dev = dev;
        files[file_count++].ino = ino;
    }
    return i;
}

/* Files of file systems without a device (/proc) are made anew by every look. */
static bool is_exact(uint64_t dev)
{
    return exact && major(dev) != 0;
}

static void show_file(uint64_t dev, uint64_t ino)
{
    if (is_exact(dev)) {
        printf("  dev %" PRIx64 " ino %" PRIu64, dev, ino);
    } else {
        printf("  file %u", file_number(dev, ino));
    }
}

static void show_time(const char *name, bool as_it_is, struct timespec time)
{
    if (as_it_is || time.tv_sec < LONG_AGO_S) {
        printf(" %s %lld.%09ld", name, (long long)time.tv_sec, time.tv_nsec);
    } else {
        printf(" %s now", name);
    }
}

void show_stat(const struct stat *stat)
{
    bool all = is_exact(stat->st_dev);
    show_file(stat->st_dev, stat->st_ino);
    printf(" mode %o nlink %ju owner %u:%u size %jd blksize %ju rdev %jx", stat->st_mode,
           (uintmax_t)stat->st_nlink, stat->st_uid, stat->st_gid, (intmax_t)stat->st_size,
           (uintmax_t)stat->st_blksize, (uintmax_t)stat->st_rdev);
    show_time("mtime", all, stat->st_mtim);
    if (all) {
        printf(" blocks %jd", (intmax_t)stat->st_blocks);
        show_time("ctime", all, stat->st_ctim);
    }
    printf("\n");
}

static void show_timestamp(const char *name, bool all, struct statx_timestamp time)
{
    show_time(name, all, (struct timespec){.tv_sec = time.tv_sec, .tv_nsec = time.tv_nsec});
}

/* Prints only the fields that were asked for: a kernel may fill more of them, and so may the
 * library. */
void show_statx(const struct statx *statx, unsigned asked)
{
    unsigned told = statx->stx_mask & asked;
    uint64_t dev = makedev(statx->stx_dev_major, statx->stx_dev_minor);
    bool all = is_exact(dev);
    show_file(dev, statx->stx_ino);
    printf(" told %x mode %o nlink %u owner %u:%u size %" PRIu64 " blksize %u rdev %u:%u", told,
           statx->stx_mode, statx->stx_nlink, statx->stx_uid, statx->stx_gid,
           (uint64_t)statx->stx_size, statx->stx_blksize, statx->stx_rdev_major,
           statx->stx_rdev_minor);
    if ((told & STATX_MTIME) != 0) {
        show_timestamp("mtime", all, statx->stx_mtime);
    }
    if (all) {
        printf(" blocks %" PRIu64, (uint64_t)statx->stx_blocks);
    }
    if (all && (told & STATX_CTIME) != 0) {
        show_timestamp("ctime", all, statx->stx_ctime);
    }
    if (all && (told & STATX_BTIME) != 0) {
        show_timestamp("btime", all, statx->stx_btime);
    }
    printf("\n");
}

/* ---- descriptors ---- */

/* Adds whole words, which takes an eighth of the time of bytes. */
static uint64_t add_words(uint64_t sum, const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i += sizeof sum) {
        uint64_t word;
        memcpy(&word, bytes + i, sizeof word);
        sum = (sum ^ word) * UINT64_C(1099511628211);
    }
    return sum;
}

/* Prints the content's size and a sum. Whatever a read gives, the buffer is full but at the end,
 * where zeros follow. */
void show_content(int fd)
{
    static __thread unsigned char buffer[BUFFER_BYTES];
    uint64_t sum = UINT64_C(14695981039346656037), bytes = 0;
    ssize_t got = 1;
    errno = SENTINEL;
    while (got > 0) {
        size_t have = 0;
        memset(buffer, 0, sizeof buffer);
        while (have < sizeof buffer && (got = read(fd, buffer + have, sizeof buffer - have)) > 0) {
            have += (size_t)got;
        }
        sum = add_words(sum, buffer, have);
        bytes += have;
    }
    printf("  content %" PRIu64 " bytes %016" PRIx64 " end %zd", bytes, sum, got);
    printf(errno == SENTINEL ? "\n" : " %s\n", strerrorname_np(errno));
}

void show_fd(int fd)
{
    struct stat stat;
    if (fd < 0) {
        return;
    }
    printf("  fd %d flags %o fdflags %d at %jd\n", fd, fcntl(fd, F_GETFL), fcntl(fd, F_GETFD),
           (intmax_t)lseek(fd, 0, SEEK_CUR));
    errno = SENTINEL;
    int result = fstat(fd, &stat);
    show_result("  fstat", result, errno);
    if (result == 0) {
        show_stat(&stat);
    }
    if ((fcntl(fd, F_GETFL) & (O_PATH | O_ACCMODE)) == O_RDONLY) {
        show_content(fd);
    }
}

/* ---- paths ---- */

static void show_stat_of(const char *name, int (*call)(const char *, struct stat *),
                         const char *path)
{
    struct stat stat;
    errno = SENTINEL;
    int result = call(path, &stat);
    show_result(name, result, errno);
    if (result == 0) {
        show_stat(&stat);
    }
}

void show_path(const char *path)
{
    for (int i = 0; i < 2; i++) {
        show_result(path, i, SENTINEL);
        show_stat_of("  stat", stat, path);
        show_stat_of("  lstat", lstat, path);
        SHOW("  access", access(path, R_OK));
        errno = SENTINEL;
        int fd = open(path, O_RDONLY);
        show_result("  open", fd, errno);
        show_fd(fd);
        if (fd >= 0) {
            close(fd);
        }
    }
}
