/*
 * How many values a second the sample store takes and gives, by the number of processes.
 *
 *     samples put|link|get DIRECTORY PROCESSES VALUES BYTES PACE_US
 *
 * Each process puts VALUES values of BYTES (or as many links), or gets that many of those that were
 * put by as many processes, and sleeps PACE_US in between (0: does not). Prints the seconds from
 * the first to the last, how many were written or found, and how many were dropped.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/store.h"

#define BUDGET (UINT64_C(1) << 38)

static struct shared {
    atomic_uint ready, go;
    _Atomic uint64_t done, dropped, found;
} * shared;

struct work {
    const char *what;
    unsigned process, values, pace_us;
    size_t bytes;
};

static __attribute__((noreturn)) void fail(const char *what, const char *why)
{
    fprintf(stderr, "samples: %s %s\n", what, why);
    exit(1);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static struct stk_hash128 key_of(unsigned process, unsigned number)
{
    const unsigned name[2] = {process, number};
    return stk_hash_128(name, sizeof name, 0);
}

static void one(struct stk_store *store, const struct work *work, const void *value, unsigned i)
{
    struct stk_store_value found;
    struct stk_hash128 key = key_of(work->process, i);
    if (strcmp(work->what, "put") == 0) {
        stk_store_put(store, key, value, work->bytes);
    } else if (strcmp(work->what, "link") == 0) {
        stk_store_link(store, key, key);
    } else {
        stk_store_get(store, key_of(i % (work->process + 1), i), &found);
    }
}

static void flush(struct stk_store *store)
{
    while (!stk_store_flush(store)) {
        usleep(100);
    }
}

static void work_on(const char *directory, const struct work *work)
{
    unsigned char *value = malloc(work->bytes);
    struct stk_store *store = stk_store_open(directory, BUDGET);
    if (store == NULL || value == NULL) {
        fail(strerror(errno), directory);
    }
    for (size_t i = 0; i < work->bytes; i++) {
        value[i] = (unsigned char)(i * 31 + work->process);
    }
    atomic_fetch_add(&shared->ready, 1);
    while (atomic_load(&shared->go) == 0) {
        usleep(100);
    }
    for (unsigned i = 0; i < work->values; i++) {
        one(store, work, value, i);
        if (work->pace_us > 0) {
            usleep(work->pace_us);
        }
    }
    flush(store);
    struct stk_store_counts counts;
    stk_store_read_counts(store, &counts);
    atomic_fetch_add(&shared->done, counts.puts);
    atomic_fetch_add(&shared->found, counts.hits);
    atomic_fetch_add(&shared->dropped, counts.refused);
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fail("usage: samples put|link|get DIRECTORY PROCESSES VALUES BYTES PACE_US", "");
    }
    unsigned processes = (unsigned)atoi(argv[3]);
    struct work work = {.what = argv[1],
                        .values = (unsigned)atoi(argv[4]),
                        .bytes = (size_t)atol(argv[5]),
                        .pace_us = (unsigned)atoi(argv[6])};
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (; work.process < processes; work.process++) {
        if (fork() == 0) {
            work_on(argv[2], &work);
            _exit(0);
        }
    }
    while (atomic_load(&shared->ready) < processes) {
        usleep(1000);
        if (waitpid(-1, NULL, WNOHANG) > 0) {
            fail("a process failed", argv[1]);
        }
    }
    double start = seconds();
    atomic_store(&shared->go, 1);
    for (unsigned i = 0; i < processes; i++) {
        int status;
        if (wait(&status) < 0 || status != 0) {
            fail("a process failed", argv[1]);
        }
    }
    printf("%.6f %llu %llu %llu\n", seconds() - start, (unsigned long long)shared->done,
           (unsigned long long)shared->found, (unsigned long long)shared->dropped);
    return 0;
}
