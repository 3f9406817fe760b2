/*
 * The index of the cache at the size of large data sets: bytes a file, refused files, searches.
 *
 *     many DIRECTORY FILES...      DIRECTORY: empty, of this user alone, on a tmpfs
 *
 * Inserts made-up files until there are as many as each number says, one number after another.
 * Prints a line for each number. It has the files, the bytes of the index and its records for each
 * file, and the most bytes for each file since the line before. Then come the files without a
 * place, nanoseconds of a search at random, milliseconds of the longest insertion, and the maps of
 * this process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "cache/catalogue/catalogue.h"

#define SEARCHES 1000000

static struct stk_catalogue catalogue;
static uint64_t refused;

static __attribute__((noreturn)) void fail(const char *what, const char *path)
{
    fprintf(stderr, "many: %s %s\n", what, path);
    exit(1);
}

static struct stk_hash128 key_of(uint64_t number)
{
    return stk_hash_128(&number, sizeof number, 1);
}

static void add(uint64_t number)
{
    struct stk_hash128 key = key_of(number);
    uint32_t record = stk_catalogue_allocate(&catalogue, key);
    refused += record == 0 || stk_catalogue_insert(&catalogue, key, record) != record;
}

static double bytes_each(uint64_t files)
{
    struct stat stat_;
    if (stat(catalogue.file.path, &stat_) != 0) {
        fail("cannot stat", catalogue.file.path);
    }
    return (double)stat_.st_blocks * 512 / (double)files;
}

static double search_ns(uint64_t files)
{
    uint64_t state = 1, found = 0;
    int64_t begin = stk_clock_boottime_ns();
    for (int i = 0; i < SEARCHES; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        found += stk_catalogue_find(&catalogue, key_of((state >> 20) % files)) != 0;
    }
    double ns = (double)(stk_clock_boottime_ns() - begin) / SEARCHES;
    if (found + refused < SEARCHES) {
        fail("a file is lost in", catalogue.file.path);
    }
    return ns;
}

static unsigned count_maps(void)
{
    char line[4096];
    unsigned maps = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        maps++;
    }
    if (file != NULL) {
        fclose(file);
    }
    return maps;
}

int main(int argc, char **argv)
{
    uint64_t files = 0;
    if (argc < 3 || stk_catalogue_open(&catalogue, argv[1], true) != 0) {
        fail("cannot make an index in", argc > 1 ? argv[1] : "nowhere");
    }
    for (int i = 2; i < argc; i++) {
        uint64_t until = strtoull(argv[i], NULL, 10);
        double most = 0;
        int64_t longest_ns = 0;
        while (files < until) {
            int64_t begin = stk_clock_boottime_ns();
            add(files++);
            int64_t ns = stk_clock_boottime_ns() - begin;
            longest_ns = ns > longest_ns ? ns : longest_ns;
            if (files % 1000 == 0 && bytes_each(files) > most) {
                most = bytes_each(files);
            }
        }
        printf("%llu %.1f %.1f %llu %.0f %.2f %u\n", (unsigned long long)files, bytes_each(files),
               most, (unsigned long long)refused, search_ns(files), (double)longest_ns / 1e6,
               count_maps());
        fflush(stdout);
    }
    return 0;
}
