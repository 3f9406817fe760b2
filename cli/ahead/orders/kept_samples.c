#include "cli/ahead/orders/kept_samples.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/sys.h"
#include "cli/os/descriptors.h"
#include "cli/os/state_dir.h"

#define DIRECTORY  "samples"
#define MAGIC      UINT64_C(0x31736c706d736b73) /* changes with the layout */
#define NAME_BYTES 17

static atomic_int directory = -1;

void kept_samples_open(void)
{
    int fd = state_open(DIRECTORY, true);
    atomic_store(&directory, fd >= 0 ? fd : -1);
}

static const char *name_of(uint64_t dataset, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%016" PRIx64, dataset);
    return name;
}

static size_t bytes_of(const struct kept_samples *kept)
{
    return sizeof *kept + kept->samples * sizeof(uint32_t) + kept->text_bytes;
}

/* Returns a check of all behind it. */
static uint64_t check_of(const struct kept_samples *kept)
{
    size_t begin = offsetof(struct kept_samples, dataset);
    return stk_hash_64((const char *)kept + begin, bytes_of(kept) - begin, MAGIC);
}

/* ---- reading ---- */

/* Returns what the file has, or NULL if it cannot be what we write. */
static struct kept_samples *read_file(int fd, size_t most, size_t *bytes)
{
    struct stat stat_;
    bool fits = fstat(fd, &stat_) == 0 && (uint64_t)stat_.st_size <= most &&
                (uint64_t)stat_.st_size >= sizeof(struct kept_samples);
    *bytes = fits ? (size_t)stat_.st_size : 0;
    struct kept_samples *kept = fits ? malloc(*bytes) : NULL;
    if (kept != NULL && stk_sys_pread_all(fd, kept, *bytes, 0) != (ssize_t)*bytes) {
        free(kept);
        return NULL;
    }
    return kept;
}

static bool is_sound(const struct kept_samples *kept, uint64_t dataset, size_t bytes)
{
    return kept->magic == MAGIC && kept->dataset == dataset && kept->samples <= bytes &&
           kept->text_bytes <= bytes && bytes_of(kept) == bytes && kept->check == check_of(kept);
}

/* Reads the file, and makes it the newest one, since it is used. */
static struct kept_samples *take(int fd, uint64_t dataset, size_t most)
{
    size_t bytes;
    struct kept_samples *kept = read_file(fd, most, &bytes);
    if (kept != NULL && is_sound(kept, dataset, bytes)) {
        futimens(fd, NULL);
        return kept;
    }
    free(kept);
    return NULL;
}

struct kept_samples *kept_samples_read(uint64_t dataset, size_t most)
{
    char name[NAME_BYTES];
    int in = atomic_load(&directory);
    int fd = in >= 0 ? state_open_file(in, name_of(dataset, name)) : -1;
    struct kept_samples *kept = fd >= 0 ? take(fd, dataset, most) : NULL;
    if (fd >= 0) {
        close(fd);
    }
    return kept;
}

/* ---- writing ---- */

/* The files of the directory, drafts of killed processes among them. */
struct holding {
    unsigned count;
    uint64_t bytes;
    char oldest[NAME_MAX + 1];
    struct timespec at; /* of the oldest */
};

static bool is_older(const struct timespec *one, const struct timespec *other)
{
    return one->tv_sec != other->tv_sec ? one->tv_sec < other->tv_sec
                                        : one->tv_nsec < other->tv_nsec;
}

static void add_file(int in, const char *name, struct holding *holding)
{
    struct stat stat_;
    if (fstatat(in, name, &stat_, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(stat_.st_mode)) {
        return;
    }
    if (holding->count++ == 0 || is_older(&stat_.st_mtim, &holding->at)) {
        snprintf(holding->oldest, sizeof holding->oldest, "%s", name);
        holding->at = stat_.st_mtim;
    }
    holding->bytes += (uint64_t)stat_.st_size;
}

static struct holding look(int in)
{
    struct holding holding = {.count = 0};
    OWNED_DIR DIR *files = directory_open(in);
    struct dirent *entry;
    while (files != NULL && (entry = readdir(files)) != NULL) {
        add_file(in, entry->d_name, &holding);
    }
    return holding;
}

static void drop_oldest(int in)
{
    struct holding holding = look(in);
    while ((holding.count > KEPT_SAMPLES_FILES || holding.bytes > KEPT_SAMPLES_BYTES) &&
           unlinkat(in, holding.oldest, 0) == 0) {
        holding = look(in);
    }
}

void kept_samples_write(struct kept_samples *kept)
{
    char name[NAME_BYTES];
    int in = atomic_load(&directory);
    kept->magic = MAGIC;
    kept->check = check_of(kept);
    if (in >= 0 &&
        state_put(in, name_of(kept->dataset, name), (const char *)kept, bytes_of(kept)) == 0) {
        drop_oldest(in);
    }
}

void kept_samples_drop(uint64_t dataset)
{
    char name[NAME_BYTES];
    int in = atomic_load(&directory);
    if (in >= 0) {
        unlinkat(in, name_of(dataset, name), 0);
    }
}
