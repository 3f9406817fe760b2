/* store/store.c */
#include "store/store.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/content_hash.h"
#include "store/env.h"
#include "store/place.h"
#include "store/write_lock.h"
#include "tests/unit/unit.h"

#define MB         (1u << 20)
#define MOST_BYTES (300u << 10)
#define PATIENCE_S 60 /* a process that takes longer hangs */

static struct stk_store *store;

static void open_store(uint64_t budget)
{
    store = stk_store_open(unit_path("samples"), budget);
    ck_assert_msg(store != NULL, "%s", strerror(errno));
}

/* Where its files are. */
static const char *place(void)
{
    static char path[STK_STORE_PLACE_BYTES];
    ck_assert_int_eq(stk_store_place(path, unit_path("samples")), 0);
    return path;
}

/* ---- values that follow from their number ---- */

static struct stk_hash128 key_of(unsigned number)
{
    return stk_hash_128(&number, sizeof number, 0);
}

static size_t bytes_of(unsigned number)
{
    return number % 7 == 0 ? number % 100 : 1 + (size_t)number * 7919 % MOST_BYTES;
}

static unsigned char *value_of(unsigned number)
{
    static unsigned char value[MOST_BYTES];
    for (size_t i = 0; i < bytes_of(number); i++) {
        value[i] = (unsigned char)(i * 31 + number + (i >> 8));
    }
    return value;
}

static bool put(unsigned number)
{
    return stk_store_put(store, key_of(number), value_of(number), bytes_of(number));
}

/* Returns false if the value is not there. A value that is there must be right. */
static bool has(unsigned number)
{
    struct stk_store_value value;
    if (!stk_store_get(store, key_of(number), &value)) {
        return false;
    }
    ck_assert_uint_eq(value.bytes, bytes_of(number));
    ck_assert_uint_eq((uintptr_t)value.data % 64, 0);
    ck_assert_mem_eq(value.data, value_of(number), value.bytes);
    return true;
}

static bool link_to(unsigned from, unsigned to)
{
    return stk_store_link(store, key_of(from), key_of(to));
}

static struct stk_store_counts counts(void)
{
    struct stk_store_counts now;
    stk_store_read_counts(store, &now);
    return now;
}

/* ---- one process ---- */

START_TEST(an_odd_umask_keeps_nothing_from_its_user)
{
    mode_t mask = umask(0777);
    open_store(100 * MB);
    ck_assert(put(1));
    umask(mask);
    ck_assert_uint_eq(unit_stat(place()).st_mode, S_IFDIR | 0700);
    DIR *directory = opendir(place());
    for (struct dirent *each = readdir(directory); each != NULL; each = readdir(directory)) {
        if (each->d_type == DT_REG) {
            ck_assert_uint_eq(unit_stat(unit_join(place(), each->d_name)).st_mode, S_IFREG | 0600);
        }
    }
    closedir(directory);
}
END_TEST

/* By whatever vectors: values that one processor has put are the next one's. */
START_TEST(content_is_hashed_as_ever)
{
    static uint8_t bytes[100 * 1024];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * i >> 3);
    }
    for (size_t size = 0; size + 3 <= sizeof bytes; size += size < 1200 ? 1 : 997) {
        for (uint64_t seed = 0; seed < 3; seed++) {
            struct stk_hash128 plain = stk_hash_128(bytes + seed, size, seed * UINT64_MAX / 2);
            struct stk_hash128 key =
                stk_content_hash_128(bytes + seed, size, seed * UINT64_MAX / 2);
            ck_assert(plain.low == key.low && plain.high == key.high);
            ck_assert_uint_eq(stk_content_hash_64(bytes + seed, size, seed),
                              stk_hash_64(bytes + seed, size, seed));
        }
    }
}
END_TEST

START_TEST(keeps_values)
{
    open_store(64 * MB);
    ck_assert(!has(1));
    for (unsigned i = 0; i < 100; i++) {
        ck_assert(put(i));
    }
    for (unsigned i = 0; i < 100; i++) {
        ck_assert(has(i));
    }
    ck_assert(!has(100));
    ck_assert_uint_eq(counts().puts, 100);
    ck_assert_uint_eq(counts().hits, 100);
    ck_assert_uint_eq(counts().gets, 102);
    ck_assert_uint_gt(stk_store_used_bytes(store), counts().bytes);
}
END_TEST

START_TEST(first_value_stays)
{
    open_store(64 * MB);
    ck_assert(put(5));
    struct stk_store_value first, second;
    ck_assert(stk_store_get(store, key_of(5), &first));
    ck_assert(stk_store_put(store, key_of(5), "other", 5));
    ck_assert(stk_store_get(store, key_of(5), &second));
    ck_assert_ptr_eq(first.data, second.data);
    ck_assert(has(5));
}
END_TEST

/* A value that has been got stays where it is, in spite of later writes. */
START_TEST(values_stay_put)
{
    struct stk_store_value held[20];
    open_store(64 * MB);
    for (unsigned i = 0; i < 20; i++) {
        ck_assert(put(i) && stk_store_get(store, key_of(i), &held[i]));
    }
    for (unsigned i = 20; i < 300; i++) {
        put(i);
    }
    for (unsigned i = 0; i < 20; i++) {
        ck_assert_mem_eq(held[i].data, value_of(i), bytes_of(i));
    }
}
END_TEST

/* ---- kernels with other pages ---- */

static long page_bytes; /* the size that LMDB gets; 0: the kernel's own */

/* Stands in for libc's, for LMDB as well: an environment gets pages of the size that this returns.
 * The thread sanitizer calls it before anything can be called; with it all pages are the kernel's.
 */
#ifndef __SANITIZE_THREAD__
__attribute__((visibility("default"))) long sysconf(int name)
{
    long (*next)(int);
    if (name == _SC_PAGESIZE) {
        return page_bytes != 0 ? page_bytes : getpagesize();
    }
    *(void **)&next = dlsym(RTLD_NEXT, "sysconf");
    return next(name);
}
#endif

static const long other_pages[] = {4096, 16384, 65536};
#define OTHER_PAGES ((int)(sizeof other_pages / sizeof *other_pages))

START_TEST(small_values_stay_put_on_any_pages)
{
    enum { SMALL = 9000 };
    static unsigned char expected[SMALL];
    struct stk_store_value held[20];
    page_bytes = other_pages[_i];
    open_store(64 * MB);
    for (unsigned i = 0; i < 20; i++) {
        memset(expected, (int)i, SMALL);
        ck_assert(stk_store_put(store, key_of(i), expected, SMALL / (i + 1)));
        ck_assert(stk_store_get(store, key_of(i), &held[i]));
    }
    for (unsigned i = 20; i < 400; i++) {
        ck_assert(stk_store_put(store, key_of(i), expected, i) && link_to(i, i + 5000));
    }
    ck_assert(stk_store_flush(store));
    for (unsigned i = 0; i < 20; i++) {
        memset(expected, (int)i, SMALL);
        ck_assert_uint_eq(held[i].bytes, SMALL / (i + 1));
        ck_assert_mem_eq(held[i].data, expected, held[i].bytes);
    }
}
END_TEST

START_TEST(budget_on_any_pages)
{
    page_bytes = other_pages[_i];
    open_store(16 * MB);
    unsigned kept = 0;
    for (unsigned i = 0; i < 20000 && stk_store_put(store, key_of(i), "small", 5); i++) {
        kept++;
    }
    ck_assert_uint_ge(kept, 12 * MB / (unsigned)other_pages[_i]);
    ck_assert_uint_lt(kept, 20000);
    ck_assert_uint_le(stk_store_used_bytes(store), 16 * MB);
    ck_assert_int_le(unit_stat(unit_join(place(), "data.mdb")).st_size, 16 * MB);
    ck_assert_int_gt(unit_stat(unit_join(place(), "data.mdb")).st_size, 14 * MB);
}
END_TEST

/* ---- no room ---- */

START_TEST(budget)
{
    open_store(4 * MB);
    unsigned kept = 0, number = 1;
    while (put(number)) {
        number++;
        kept++;
        ck_assert_uint_le(stk_store_used_bytes(store), 4 * MB);
    }
    ck_assert_uint_gt(kept, 10);
    ck_assert_int_le(unit_stat(unit_join(place(), "data.mdb")).st_size, 4 * MB);
    for (unsigned i = 1; i < number; i++) {
        ck_assert(has(i));
    }
    ck_assert(!has(number));
    ck_assert_uint_eq(counts().refused, 1);
    ck_assert(!put(number + 1));
}
END_TEST

START_TEST(for_reading_only)
{
    open_store(0);
    ck_assert(!put(1) && !has(1) && stk_store_flush(store));
    ck_assert(!unit_exists(unit_join(place(), "lock.mdb")));
    pid_t pid = fork();
    if (pid == 0) {
        stk_store_set_budget(store, MB);
        _exit(put(1) ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    ck_assert_int_eq(status, 0);
    ck_assert(has(1) && !put(2));
}
END_TEST

START_TEST(full_file_system)
{
    UNIT_NEEDS_PRIVATE();
    unit_mount_tmpfs(unit_directory("samples"), "size=2m,mode=0700");
    open_store(64 * MB);
    unsigned number = 1;
    while (put(number)) {
        number++;
    }
    ck_assert_uint_gt(number, 3);
    for (unsigned i = 1; i < number; i++) {
        ck_assert(has(i));
    }
    ck_assert(!has(number));
    for (int child = 0; child < 20; child++) { /* new readers find room in their table */
        if (fork() == 0) {
            _exit(has(1) ? 0 : 1);
        }
        int status;
        wait(&status);
        ck_assert_int_eq(status, 0);
    }
}
END_TEST

START_TEST(no_room_at_all)
{
    UNIT_NEEDS_PRIVATE();
    unit_mount_tmpfs(unit_directory("samples"), "size=64k,mode=0700");
    ck_assert_ptr_null(stk_store_open(unit_path("samples"), MB));
    ck_assert_int_eq(errno, ENOSPC);
}
END_TEST

START_TEST(limit_of_files)
{
    open_store(64 * MB);
    for (unsigned i = 1; i < 10; i++) {
        ck_assert(put(i));
    }
    const rlim_t bytes = (rlim_t)unit_stat(unit_join(place(), "data.mdb")).st_size;
    const struct rlimit limit = {bytes, RLIM_INFINITY};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert(!put(10));
    ck_assert(has(9));
}
END_TEST

static uint64_t addresses_used(void)
{
    FILE *self = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    ck_assert_int_eq(fscanf(self, "%lu", &pages), 1);
    fclose(self);
    return (uint64_t)pages * (uint64_t)getpagesize();
}

/* This process may take so many more. */
static void limit_addresses(uint64_t bytes)
{
    const struct rlimit limit = {addresses_used() + bytes, RLIM_INFINITY};
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
}

START_TEST(map_as_large_as_the_budget)
{
    uint64_t before = addresses_used();
    open_store(1024 * MB);
    ck_assert(put(3) && has(3));
    ck_assert_uint_ge(addresses_used() - before, 1024ull * MB);
    ck_assert_uint_lt(addresses_used() - before, 2200ull * MB);
}
END_TEST

/* The job's own maps come later. */
START_TEST(limit_of_addresses)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    unit_skip(__func__, "the sanitizers take all addresses");
    return;
#endif
    const uint64_t left = (_i == 0 ? 6144ull : 3072ull) * MB;
    limit_addresses(left);
    uint64_t before = addresses_used();
    open_store(1024 * MB);
    ck_assert(put(3) && has(3));
    ck_assert_uint_le(addresses_used() - before, (_i == 0 ? 1160ull : 800ull) * MB);
    void *map = mmap(NULL, left / 4 * 3 - 64 * MB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(map, MAP_FAILED);
    ck_assert(put(4) && has(4));
}
END_TEST

START_TEST(no_addresses)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    unit_skip(__func__, "the sanitizers take all addresses");
    return;
#endif
    open_store(64 * MB);
    for (unsigned i = 1; i < 100; i++) {
        ck_assert(put(i));
    }
    pid_t pid = fork();
    if (pid == 0) {
        limit_addresses(32 * MB); /* a quarter is less than what is there */
        uint64_t before = addresses_used();
        _exit(!has(1) && !put(200) && counts().refused == 1 && addresses_used() - before < MB ? 0
                                                                                              : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    ck_assert_int_eq(status, 0);
    limit_addresses(8 * MB);
    ck_assert_ptr_null(stk_store_open(unit_path("other"), 64 * MB));
    ck_assert_int_eq(errno, ENOMEM);
}
END_TEST

/* The map is smaller than the budget that comes later. */
START_TEST(a_map_that_is_used_up)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    unit_skip(__func__, "the sanitizers take all addresses");
    return;
#endif
    const struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    limit_addresses(96 * MB);
    open_store(0); /* to be granted */
    stk_store_set_budget(store, 1024 * MB);
    ck_assert(!stk_store_admits(store, 40 * MB));
    unsigned number = 1;
    for (; stk_store_admits(store, bytes_of(number)); number++) {
        ck_assert(put(number));
    }
    ck_assert_uint_gt(number, 40);
    ck_assert_uint_lt(stk_store_used_bytes(store), 24 * MB);
    for (unsigned i = 1; i < number; i++) {
        ck_assert(has(i));
    }
    ck_assert(!put(number) && !stk_store_admits(store, 1));
    number++;
    pid_t pid = fork(); /* another, with more addresses */
    if (pid == 0) {
        ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
        bool good = has(1);
        for (unsigned i = number; i < number + 200; i++) {
            good = put(i) && good;
        }
        _exit(good ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    ck_assert_int_eq(status, 0);
    has(1); /* what lies beyond the map is a miss, and so may be all */
    ck_assert(!has(number + 199));
}
END_TEST

static void damage_file(const char *path, const void *what, size_t bytes)
{
    int fd = open(path, O_RDWR);
    size_t size = (size_t)unit_stat(path).st_size;
    unsigned char *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    unsigned char *found = memmem(map, size, what, bytes);
    ck_assert_ptr_nonnull(found);
    found[bytes / 2] ^= 1;
    munmap(map, size);
    close(fd);
}

START_TEST(damaged_values)
{
    open_store(64 * MB);
    ck_assert(put(1) && put(2));
    damage_file(unit_join(place(), "data.mdb"), value_of(1), bytes_of(1));
    ck_assert(!has(1));
    ck_assert(has(2));
    ck_assert_uint_eq(counts().damaged, 1);
}
END_TEST

/* The program closes what is not its own, and opens files of its own: they are left alone. */
/* Voids values for another process, too. Values beside them stay, and a process that has got one
 * keeps it. */
START_TEST(void_values)
{
    struct stk_store_value got[20], now;
    open_store(8 * MB);
    for (unsigned i = 0; i < 20; i++) {
        ck_assert(put(i) && stk_store_get(store, key_of(i), &got[i]));
    }
    pid_t child = fork();
    if (child == 0) {
        _exit(stk_store_void(store, key_of(7)) && stk_store_void(store, key_of(8)) ? 0 : 1);
    }
    int status;
    ck_assert(waitpid(child, &status, 0) == child && status == 0);
    for (unsigned i = 0; i < 20; i++) {
        ck_assert_int_eq(stk_store_get(store, key_of(i), &now), i != 7 && i != 8);
    }
    ck_assert_mem_eq(got[8].data, value_of(8), bytes_of(8));
    ck_assert(!stk_store_void(store, key_of(7)));
    ck_assert(!stk_store_void(store, key_of(1000)));
    ck_assert(put(21) && has(21));
}
END_TEST

START_TEST(closed_descriptors)
{
    int lowest = dup(0);
    struct stk_store_value value;
    open_store(64 * MB);
    ck_assert(put(1) && stk_store_get(store, key_of(1), &value));
    ck_assert_int_eq(syscall(SYS_close_range, lowest, ~0U, 0), 0);
    for (int i = 0; i < 30; i++) {
        ck_assert_int_ge(open(unit_path("own"), O_RDWR | O_CREAT, 0600), 0);
    }
    ck_assert(!put(2));
    ck_assert(!has(1)); /* to the others this process is dead now */
    ck_assert(!has(2));
    ck_assert_mem_eq(value.data, value_of(1), bytes_of(1));
    ck_assert_int_eq(unit_stat(unit_path("own")).st_size, 0);
}
END_TEST

/* ---- links ---- */

/* Where it leads; the largest number for nowhere. */
static unsigned follow(unsigned from)
{
    struct stk_hash128 to;
    if (!stk_store_follow(store, key_of(from), &to)) {
        return UINT_MAX;
    }
    for (unsigned number = 0; number < 10000; number++) {
        const struct stk_hash128 key = key_of(number);
        if (key.low == to.low && key.high == to.high) {
            return number;
        }
    }
    ck_abort_msg("a link leads to what was never linked to");
    return 0;
}

/* Returns how many values another process finds that begins now. */
static unsigned found_by_others(unsigned first, unsigned count)
{
    int ends[2];
    unsigned found = 0;
    ck_assert_int_eq(pipe(ends), 0);
    if (fork() == 0) {
        for (unsigned i = first; i < first + count; i++) {
            found += follow(i) == i + 5000;
        }
        _exit(write(ends[1], &found, sizeof found) == sizeof found ? 0 : 1);
    }
    int status;
    wait(&status);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(read(ends[0], &found, sizeof found), sizeof found);
    close(ends[0]);
    close(ends[1]);
    return found;
}

START_TEST(links)
{
    open_store(64 * MB);
    ck_assert_uint_eq(follow(1), UINT_MAX);
    ck_assert(link_to(1, 2) && link_to(3, 3));
    ck_assert_uint_eq(follow(1), 2); /* aside */
    ck_assert_uint_eq(follow(3), 3);
    ck_assert(link_to(3, 5));
    ck_assert_uint_eq(follow(3), 5);
    ck_assert(stk_store_flush(store));
    ck_assert_uint_eq(follow(1), 2);
    ck_assert(link_to(1, 4));
    ck_assert_uint_eq(follow(1), 4);
    ck_assert(stk_store_flush(store));
    ck_assert_uint_eq(follow(1), 4);
    ck_assert(!has(1) && !has(2) && !has(4)); /* they are no values */
    ck_assert(put(1) && has(1));
    ck_assert_uint_eq(follow(1), 4);
}
END_TEST

START_TEST(links_wait_for_each_other)
{
    open_store(64 * MB);
    for (unsigned i = 0; i < 63; i++) {
        ck_assert(link_to(i, i + 5000));
    }
    ck_assert_uint_eq(found_by_others(0, 63), 0);
    ck_assert(link_to(63, 5063));
    ck_assert_uint_eq(found_by_others(0, 64), 64);
    ck_assert(link_to(64, 5064));
    ck_assert_uint_eq(found_by_others(64, 1), 0);
    ck_assert(put(7)); /* or for the next value */
    ck_assert_uint_eq(found_by_others(64, 1), 1);
    uint64_t before = stk_store_used_bytes(store);
    for (unsigned i = 0; i < 65; i++) {
        ck_assert(link_to(i, i + 5000)); /* known, and not written again */
    }
    ck_assert(stk_store_flush(store));
    ck_assert_uint_eq(stk_store_used_bytes(store), before);
}
END_TEST

START_TEST(links_are_small)
{
    open_store(64 * MB);
    uint64_t before = stk_store_used_bytes(store);
    for (unsigned i = 0; i < 5000; i++) {
        ck_assert(link_to(i, i + 5000));
    }
    ck_assert(stk_store_flush(store));
    ck_assert_uint_lt(stk_store_used_bytes(store) - before, 5000 * 160);
    for (unsigned i = 0; i < 5000; i++) {
        ck_assert_uint_eq(follow(i), i + 5000);
    }
}
END_TEST

START_TEST(budget_of_links)
{
    open_store(MB);
    for (unsigned i = 0; i < 40000 && link_to(i, i); i++) {
        ck_assert_uint_le(stk_store_used_bytes(store), MB);
    }
    ck_assert_uint_gt(stk_store_used_bytes(store), MB / 4);
    ck_assert(!link_to(50000, 1));
    ck_assert_uint_eq(follow(0), 0);
}
END_TEST

START_TEST(admits_and_other_budgets)
{
    open_store(0);
    ck_assert(!stk_store_admits(store, 100) && !link_to(1, 1) && !put(1));
    stk_store_set_budget(store, MB);
    ck_assert(stk_store_admits(store, MB / 2) && !stk_store_admits(store, MB));
    ck_assert(!stk_store_admits(store, SIZE_MAX));
    unsigned number = 1, more;
    while (put(number)) {
        number++;
    }
    ck_assert(!stk_store_admits(store, 1));
    ck_assert_uint_le(stk_store_used_bytes(store), MB);
    stk_store_set_budget(store, 4 * MB);
    ck_assert(stk_store_admits(store, MB));
    for (more = number; put(more); more++) {
    }
    ck_assert_uint_gt(more, number + 5);
    ck_assert_uint_gt(stk_store_used_bytes(store), 3 * MB);
    ck_assert_uint_le(stk_store_used_bytes(store), 4 * MB);
    stk_store_set_budget(store, 2 * MB); /* what is there stays */
    ck_assert(!stk_store_admits(store, 1) && !put(more) && has(more - 1) && has(1));
}
END_TEST

/* Returns true if a waiter is asked. Without a waiter, the next one is not asked. */
static bool is_asked(struct stk_tally *tally)
{
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    stk_tally_wait(tally, INT64_C(2000000000));
    clock_gettime(CLOCK_MONOTONIC, &after);
    return after.tv_sec - before.tv_sec < 2;
}

START_TEST(grants_of_the_command)
{
    ck_assert_int_eq(stk_tally_create(unit_path("tally")), 0);
    struct stk_tally *tally = stk_tally_open(unit_path("tally"));
    open_store(MB);
    stk_store_join(store, tally, "here:1M");
    ck_assert(stk_store_admits(store, 1000));
    stk_tally_grant(tally, "elsewhere", 0);
    ck_assert(put(1)); /* not for us */
    stk_tally_grant(tally, "here:1M", 0);
    ck_assert(!stk_store_admits(store, 1000) && !put(2));
    ck_assert(!link_to(1, 1));
    ck_assert(is_asked(tally));
    stk_tally_grant(tally, "here:1M", 8 * MB);
    ck_assert(stk_store_admits(store, 4 * MB) && put(2));
    ck_assert(link_to(1, 1));
    stk_tally_grant(tally, "here:1M", MB); /* memory is short */
    for (unsigned i = 100; stk_store_admits(store, MOST_BYTES); i++) {
        put(i);
        ck_assert_uint_le(stk_store_used_bytes(store), MB);
    }
    ck_assert(is_asked(tally) && has(1) && has(2));
}
END_TEST

START_TEST(opened_again)
{
    open_store(0);
    struct stk_store *first = store;
    ck_assert_int_eq(symlink(unit_path("samples"), unit_path("same")), 0);
    ck_assert_ptr_eq(stk_store_open(unit_path("samples/."), MB), first);
    ck_assert(put(3) && has(3));
}
END_TEST

/* ---- several processes ---- */

static void expect_children(int count)
{
    int status;
    for (int i = 0; i < count; i++) {
        ck_assert_int_gt(wait(&status), 0);
        ck_assert_int_eq(status, 0);
    }
}

START_TEST(shared_with_children)
{
    open_store(64 * MB);
    ck_assert(put(1));
    for (unsigned child = 0; child < 8; child++) {
        if (fork() == 0) {
            bool good = has(1);
            for (unsigned i = 10; i < 40; i++) {
                good = put(child * 100 + i) && good;
            }
            _exit(good && stk_store_flush(store) ? 0 : 1);
        }
        expect_children(1);
    }
    for (unsigned child = 0; child < 8; child++) {
        for (unsigned i = 10; i < 40; i++) {
            ck_assert(has(child * 100 + i));
        }
    }
}
END_TEST

/* A child that is in the gate until it is killed. */
static pid_t start_writer(int signal)
{
    int ready[2];
    char byte;
    ck_assert_int_eq(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        bool in = stk_write_lock_acquire(place(), STK_WRITE_LOCK_VALUES) >= 0;
        if (write(ready[1], "", in) != 1) {
            _exit(1);
        }
        raise(signal);
        pause();
    }
    close(ready[1]);
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

START_TEST(another_one_writes)
{
    open_store(64 * MB);
    ck_assert(put(1));
    pid_t writer = start_writer(SIGSTOP);
    unsigned number = 2;
    ck_assert(put(number) && put(number));
    ck_assert(!has(number)); /* aside */
    ck_assert(!stk_store_flush(store));
    while (put(++number)) {
    }
    ck_assert_uint_gt(number, 20);
    kill(writer, SIGKILL);
    waitpid(writer, NULL, 0);
    ck_assert(stk_store_flush(store));
    for (unsigned i = 1; i < number; i++) {
        ck_assert(has(i));
    }
    ck_assert(put(number) && has(number)); /* too many aside is no reason for ever */
}
END_TEST

START_TEST(what_is_aside_is_not_the_childs)
{
    open_store(64 * MB);
    pid_t writer = start_writer(SIGSTOP);
    ck_assert(put(1));
    if (fork() == 0) {
        _exit(stk_store_flush(store) && !has(1) ? 0 : 1);
    }
    expect_children(1);
    kill(writer, SIGKILL);
    waitpid(writer, NULL, 0);
    ck_assert(put(2) && has(1) && has(2));
}
END_TEST

static void *put_on(void *stop)
{
    for (unsigned i = 1000; !atomic_load((_Atomic bool *)stop); i++) {
        static const char text[3000];
        stk_store_put(store, key_of(i), text, sizeof text);
    }
    return NULL;
}

START_TEST(forks_while_threads_write)
{
#ifdef __SANITIZE_ADDRESS__
    /* Its allocator's locks, unlike libc's, stay held in a child when a thread held them. */
    unit_skip(__func__, "a child of threads that allocate can hang in the address sanitizer");
    return;
#endif
    static _Atomic bool stop;
    pthread_t threads[2];
    open_store(16 * MB);
    ck_assert(put(1));
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, put_on, &stop);
    }
    for (unsigned child = 0; child < 40; child++) {
        if (fork() == 0) {
            alarm(PATIENCE_S);
            put(child + 2);
            _exit(has(1) ? 0 : 1);
        }
        expect_children(1);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
}
END_TEST

START_TEST(many_readers)
{
    open_store(64 * MB);
    ck_assert(put(1));
    for (int child = 0; child < 200; child++) {
        if (fork() == 0) {
            usleep(100000);
            bool found = has(1);
            for (int i = 0; i < 3000 && !found; i++) { /* they open it one by one */
                usleep(20000);
                found = has(1);
            }
            _exit(found && has(1) ? 0 : 1);
        }
    }
    expect_children(200);
}
END_TEST

static const struct stk_env_options two_readers = {.budget = MB, .most = MB, .readers = 2};

/* Readers that were killed leave their places in the table to others. */
START_TEST(dead_readers)
{
    const void *data;
    size_t bytes;
    const char *directory = unit_directory("env");
    static struct stk_env *env;
    env = stk_env_open(directory, &two_readers);
    ck_assert_ptr_nonnull(env);
    for (int child = 0; child < 300; child++) {
        pid_t pid = fork();
        if (pid == 0) {
            env = stk_env_open(directory, &two_readers);
            bool there = env != NULL && stk_env_find(env, key_of(1), &data, &bytes);
            raise(env != NULL && !there ? SIGKILL : SIGABRT);
        }
        int status;
        waitpid(pid, &status, 0);
        ck_assert_int_eq(WTERMSIG(status), SIGKILL);
    }
    const struct stk_env_parts parts = {"a", "b", 1, 1};
    ck_assert(stk_env_begin(env) && stk_env_add(env, key_of(1), &parts) && stk_env_end(env));
    ck_assert(stk_env_find(env, key_of(1), &data, &bytes));
    ck_assert_mem_eq(data, "ab", 2);
}
END_TEST

/* More readers than the table has places: the rest misses, and finds when others are gone. */
START_TEST(more_readers_than_places)
{
    enum { READERS = 300 };
    static pid_t pids[READERS];
    const char *directory = unit_directory("env");
    const struct stk_env_parts parts = {"a", "b", 1, 1};
    int told[2];
    static struct stk_env *env;
    env = stk_env_open(directory, &two_readers);
    ck_assert(stk_env_begin(env) && stk_env_add(env, key_of(1), &parts) && stk_env_end(env));
    ck_assert_int_eq(pipe(told), 0);
    unsigned found = 0;
    for (int i = 0; i < READERS; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            const void *data;
            size_t bytes;
            char there;
            env = stk_env_open(directory, &two_readers);
            there = env != NULL && stk_env_find(env, key_of(1), &data, &bytes);
            if (write(told[1], &there, 1) == 1) {
                pause();
            }
            _exit(1);
        }
        char there;
        ck_assert_int_eq(read(told[0], &there, 1), 1);
        found += there != 0;
    }
    ck_assert_uint_gt(found, 50);
    ck_assert_uint_lt(found, READERS);
    for (int i = 0; i < READERS; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    if (fork() == 0) {
        const void *data;
        size_t bytes;
        env = stk_env_open(directory, &two_readers);
        _exit(env != NULL && stk_env_find(env, key_of(1), &data, &bytes) ? 0 : 1);
    }
    expect_children(1);
}
END_TEST

/* A reader that was killed while it read keeps no page of the tree from being used again. */
START_TEST(killed_readers)
{
    open_store(64 * MB);
    ck_assert(put(1));
    for (unsigned i = 0; i < 400; i++) {
        ck_assert(link_to(i, i + 5000));
    }
    for (int round = 0; round < 60; round++) {
        pid_t pid = fork();
        if (pid == 0) {
            for (struct stk_hash128 to;;) {
                stk_store_follow(store, key_of(1), &to);
            }
        }
        usleep(3000);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    uint64_t before = stk_store_used_bytes(store);
    for (unsigned i = 0; i < 64 * 400; i++) {
        ck_assert(link_to(i % 400, i % 5000));
    }
    ck_assert_uint_lt(stk_store_used_bytes(store) - before, MB);
}
END_TEST

/* ---- stopped processes ---- */

/* A store that this process has not opened, so that its children may be the first. */
static void make_store(void)
{
    open_store(0);
    pid_t pid = fork();
    if (pid == 0) {
        stk_store_set_budget(store, 64 * MB);
        _exit(put(7) && stk_store_flush(store) ? 0 : 1); /* a small one */
    }
    expect_children(1);
}

/* Starts a process that uses the store, and stands still where it is left. */
static pid_t start_traced(void)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
            _exit(2);
        }
        raise(SIGSTOP);
        stk_store_set_budget(store, 64 * MB);
        struct stk_store_value value;
        bool good = stk_store_get(store, key_of(7), &value) &&
                    stk_store_put(store, key_of((unsigned)getpid()), "", 1) &&
                    stk_store_link(store, key_of(3), key_of((unsigned)getpid()));
        _exit(good && stk_store_flush(store) ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSTOPPED(status));
    return pid;
}

/* To its next system call or instruction; false: it has ended. */
static bool go_on(pid_t pid, enum __ptrace_request request)
{
    int status;
    ck_assert_int_eq(ptrace(request, pid, NULL, NULL), 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFSTOPPED(status);
}

static void end_traced(pid_t pid)
{
    kill(pid, SIGKILL); /* its tracer's end would let it go on */
    waitpid(pid, NULL, 0);
}

/* Expects that all calls of other processes end, well or in vain, while one process stands in the
 * way. */
static void expect_others_go_on(pid_t stopped, const char *where, unsigned step)
{
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGALRM, SIG_DFL); /* not Check's */
        alarm(PATIENCE_S);
        stk_store_set_budget(store, 64 * MB);
        has(7);
        stk_store_put(store, key_of((unsigned)getpid()), "", 1);
        link_to(4, (unsigned)getpid());
        stk_store_flush(store);
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    if (status != 0) {
        end_traced(stopped);
    }
    ck_assert_msg(status == 0, "%s, step %u: status %d", where, step, status);
}

#define STOPS_APART 4

START_TEST(stopped_at_any_call)
{
    make_store();
    bool stopped = true;
    for (unsigned stop = 2 * (unsigned)_i + 1; stopped; stop += 2 * STOPS_APART) {
        pid_t pid = start_traced();
        for (unsigned i = 0; i < stop && stopped; i++) {
            stopped = go_on(pid, PTRACE_SYSCALL); /* each stops it twice */
        }
        if (stopped) {
            expect_others_go_on(pid, "stopped at a call", stop);
            end_traced(pid);
        }
    }
}
END_TEST

/* In LMDB's locks, which lie at the beginning of its table and hold their owner's number. */
START_TEST(stopped_in_a_lock)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    unit_skip(__func__, "the sanitizers take too many steps");
    return;
#endif
    enum { WORDS = 32 };
    make_store();
    int table = open(unit_join(place(), "lock.mdb"), O_RDONLY);
    const uint32_t *words = mmap(NULL, 4 * WORDS, PROT_READ, MAP_SHARED, table, 0);
    ck_assert_ptr_ne(words, MAP_FAILED);
    pid_t pid = start_traced();
    unsigned held = 0;
    bool was_held = false;
    for (unsigned step = 0; go_on(pid, PTRACE_SINGLESTEP); step++) {
        bool is_held = false;
        for (int i = 0; i < WORDS; i++) {
            is_held = is_held || (words[i] & FUTEX_TID_MASK) == (uint32_t)pid;
        }
        if (is_held && !was_held) {
            expect_others_go_on(pid, "stopped in a lock", step);
            held++;
        }
        was_held = is_held;
    }
    ck_assert_uint_ge(held, 2); /* the readers' and the writers' */
}
END_TEST

/* ---- killed writers ---- */

#define KILLED_WRITERS 6
#define KILL_ROUNDS    60
#define KILLED_VALUES  400

static _Noreturn void write_until_killed(unsigned seed)
{
    for (;;) {
        unsigned number = (unsigned)rand_r(&seed) % KILLED_VALUES;
        put(number);
        has((unsigned)rand_r(&seed) % KILLED_VALUES);
    }
}

static unsigned values_there(void)
{
    unsigned there = 0;
    for (unsigned number = 0; number < KILLED_VALUES; number++) {
        there += has(number);
    }
    return there;
}

START_TEST(killed_writers)
{
    pid_t pids[KILLED_WRITERS] = {0};
    unsigned seed = 1;
    open_store(256 * MB);
    for (int round = 0; round < KILL_ROUNDS; round++) {
        int victim = round % KILLED_WRITERS;
        if (pids[victim] != 0) {
            int status;
            kill(pids[victim], SIGKILL);
            ck_assert_int_eq(waitpid(pids[victim], &status, 0), pids[victim]);
            ck_assert_int_eq(WTERMSIG(status), SIGKILL); /* not by an assertion */
        }
        pids[victim] = fork();
        if (pids[victim] == 0) {
            write_until_killed((unsigned)round);
        }
        usleep((unsigned)rand_r(&seed) % 30000);
    }
    for (int i = 0; i < 10 * PATIENCE_S && values_there() <= 20; i++) {
        usleep(100000); /* on a busy machine they have hardly begun */
    }
    for (int i = 0; i < KILLED_WRITERS; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    ck_assert_uint_gt(values_there(), 20);
    ck_assert(put(1000) && has(1000));
}
END_TEST

/* ---- places ---- */

START_TEST(other_boots_go)
{
    char name[STK_STORE_PLACE_BYTES];
    open_store(MB);
    strcpy(name, place());
    strcpy(strrchr(name, '-'), "-00000000");
    ck_assert_int_eq(mkdir(name, 0700), 0);
    unit_write_text(unit_join(name, "data.mdb"), "old");
    static struct stk_store *volatile other; /* seen by the leak checker */
    other = stk_store_open(unit_path("other"), MB);
    ck_assert_ptr_nonnull(other);
    ck_assert(unit_exists(name));
    place();
    ck_assert(!unit_exists(name));
    ck_assert(unit_exists(place()));
}
END_TEST

START_TEST(pid_namespaces)
{
    UNIT_NEEDS_ROOT();
    char here[STK_STORE_PLACE_BYTES];
    strcpy(here, place());
    pid_t pid = fork();
    if (pid == 0) {
        if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) {
            _exit(2);
        }
        pid_t first = fork();
        if (first == 0) {
            mount("proc", "/proc", "proc", 0, NULL);
            _exit(strcmp(here, place()) != 0 ? 0 : 1);
        }
        int status;
        waitpid(first, &status, 0);
        _exit(status == 0 ? 0 : 1);
    }
    expect_children(1);
}
END_TEST

/* A store of another namespace, opened so long ago. */
static void make_other(const char *name, time_t age_s)
{
    char path[400];
    strcpy(path, unit_join(unit_path("samples"), name));
    const struct timespec times[2] = {{.tv_sec = time(NULL) - age_s},
                                      {.tv_sec = time(NULL) - age_s}};
    ck_assert_int_eq(mkdir(path, 0700), 0);
    unit_write_text(unit_join(path, "data.mdb"), "data");
    unit_write_text(unit_join(path, "lock.mdb"), "table");
    ck_assert_int_eq(utimensat(AT_FDCWD, unit_join(path, "lock.mdb"), times, 0), 0);
}

/* One that has it open. */
static pid_t start_user(const char *name)
{
    int ready[2];
    char byte;
    ck_assert_int_eq(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
        int fd = open(unit_join(unit_join(unit_path("samples"), name), "lock.mdb"), O_RDWR);
        if (fcntl(fd, F_SETLK, &lock) != 0 || write(ready[1], "", 1) != 1) {
            _exit(1);
        }
        pause();
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    return pid;
}

static bool is_there(const char *name)
{
    return unit_exists(unit_join(unit_path("samples"), name));
}

START_TEST(other_namespaces_leave)
{
    unit_directory("samples");
    make_other("pid-77-01234567", 4000);
    make_other("pid-78-01234567", 3000);
    make_other("pid-79-01234567", 4000);
    make_other("mine", 4000);
    make_other("pid-train", 4000);
    pid_t user = start_user("pid-79-01234567");
    open_store(MB);
    ck_assert(!is_there("pid-77-01234567") && is_there("pid-78-01234567"));
    ck_assert(is_there("pid-79-01234567") && is_there("mine"));
    kill(user, SIGKILL);
    waitpid(user, NULL, 0);
    place();
    ck_assert(!is_there("pid-79-01234567") && is_there("pid-78-01234567") && is_there("mine"));
    ck_assert(is_there("pid-train"));
    const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    const char *table = unit_join(place(), "lock.mdb");
    ck_assert_int_eq(utimensat(AT_FDCWD, table, old, 0), 0);
    pid_t pid = fork();
    if (pid == 0) {
        _exit(has(1) ? 1 : 0);
    }
    expect_children(1);
    ck_assert_int_gt(unit_stat(table).st_mtime, 1000); /* opening is noted */
}
END_TEST

/* A child in another namespace: its number may be another process's in its parent's store. */
START_TEST(child_in_another_pid_namespace)
{
    UNIT_NEEDS_ROOT();
    open_store(64 * MB);
    ck_assert(put(1));
    pid_t pid = fork();
    if (pid == 0) {
        if (unshare(CLONE_NEWPID) != 0) {
            _exit(2);
        }
        if (fork() == 0) {
            _exit(!has(1) && put(2) && has(2) ? 0 : 1);
        }
        int status;
        wait(&status);
        _exit(status == 0 && has(1) && !has(2) ? 0 : 1);
    }
    expect_children(1);
    ck_assert(has(1) && !has(2));
}
END_TEST

START_TEST(not_local)
{
    UNIT_NEEDS_PRIVATE();
    char path[STK_STORE_PLACE_BYTES];
    const char *directory = unit_directory("ram");
    if (mount("ramfs", directory, "ramfs", 0, "mode=0700") != 0) {
        unit_skip(__func__, "no ramfs here");
        return;
    }
    ck_assert_int_eq(stk_store_place(path, directory), EINVAL);
}
END_TEST

START_TEST(writable_by_others)
{
    const char *directory = unit_directory("open");
    ck_assert_int_eq(chmod(directory, 0777), 0);
    ck_assert_ptr_null(stk_store_open(directory, MB));
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_ptr_null(stk_store_open(unit_path("no/where"), MB));
    ck_assert_int_eq(errno, ENOENT);
}
END_TEST

Suite *suite_store(void)
{
    Suite *suite = suite_create("store");
    TCase *one = unit_case(suite, "store_one");
    tcase_add_test(one, content_is_hashed_as_ever);
    tcase_add_test(one, an_odd_umask_keeps_nothing_from_its_user);
    tcase_add_test(one, keeps_values);
    tcase_add_test(one, first_value_stays);
    tcase_add_test(one, values_stay_put);
    tcase_add_loop_test(one, small_values_stay_put_on_any_pages, 0, OTHER_PAGES);
    tcase_add_loop_test(one, budget_on_any_pages, 0, OTHER_PAGES);
    tcase_add_test(one, budget);
    tcase_add_test(one, for_reading_only);
    tcase_add_test(one, admits_and_other_budgets);
    tcase_add_test(one, grants_of_the_command);
    tcase_add_test(one, opened_again);
    tcase_add_test(one, links);
    tcase_add_test(one, links_wait_for_each_other);
    tcase_add_test(one, links_are_small);
    tcase_add_test(one, budget_of_links);
    tcase_add_test(one, full_file_system);
    tcase_add_test(one, no_room_at_all);
    tcase_add_test(one, limit_of_files);
    tcase_add_test(one, map_as_large_as_the_budget);
    tcase_add_loop_test(one, limit_of_addresses, 0, 2);
    tcase_add_test(one, no_addresses);
    tcase_add_test(one, a_map_that_is_used_up);
    tcase_add_test(one, damaged_values);
    tcase_add_test(one, void_values);
    tcase_add_test(one, closed_descriptors);
    TCase *several = unit_case(suite, "store_several");
    tcase_add_test(several, shared_with_children);
    tcase_add_test(several, another_one_writes);
    tcase_add_test(several, what_is_aside_is_not_the_childs);
    tcase_add_test(several, forks_while_threads_write);
    tcase_add_test(several, many_readers);
    tcase_add_test(several, dead_readers);
    tcase_add_test(several, more_readers_than_places);
    tcase_add_test(several, killed_readers);
    tcase_add_test(several, killed_writers);
    tcase_add_test(several, stopped_in_a_lock);
    static const char *const stops[STOPS_APART] = {"store_stops_1", "store_stops_2",
                                                   "store_stops_3", "store_stops_4"};
    for (int i = 0; i < STOPS_APART; i++) { /* which run beside each other */
        tcase_add_loop_test(unit_case(suite, stops[i]), stopped_at_any_call, i, i + 1);
    }
    TCase *places = unit_case(suite, "store_places");
    tcase_add_test(places, other_boots_go);
    tcase_add_test(places, pid_namespaces);
    tcase_add_test(places, other_namespaces_leave);
    tcase_add_test(places, child_in_another_pid_namespace);
    tcase_add_test(places, not_local);
    tcase_add_test(places, writable_by_others);
    return suite;
}
