/* cache/catalogue/catalogue.c */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "cache/catalogue/catalogue.h"
#include "cache/catalogue/home.h"

#define MANY UNIT_STEPS(300000, 80000)

static struct stk_catalogue catalogue;

static struct stk_hash128 key_of(uint64_t number)
{
    return stk_hash_128(&number, sizeof number, 1);
}

/* A record with this key, findable; its number, or 0. */
static uint32_t put(struct stk_catalogue *into, struct stk_hash128 key, uint64_t size)
{
    uint32_t number = stk_catalogue_allocate(into, key);
    if (number == 0) {
        return 0;
    }
    stk_catalogue_record(into, number)->size = size;
    return stk_catalogue_insert(into, key, number);
}

static uint64_t size_of(struct stk_hash128 key)
{
    const struct stk_record *record =
        stk_catalogue_record(&catalogue, stk_catalogue_find(&catalogue, key));
    return record != NULL ? record->size : UINT64_MAX;
}

static void open_new(void)
{
    ck_assert_int_eq(stk_catalogue_open(&catalogue, unit_path(""), true), 0);
}

static uint32_t segments_of(enum stk_area_name name)
{
    return atomic_load(&catalogue.header->areas.counts[name].segments);
}

static const char *file(void)
{
    return unit_path("/catalogue");
}

START_TEST(opens_and_reopens)
{
    UNIT_NEEDS_PRIVATE();
    ck_assert_int_eq(stk_catalogue_open(&catalogue, unit_path(""), false), -ENOENT);
    ck_assert_ptr_null(catalogue.header);
    open_new();
    ck_assert_uint_eq(unit_stat(file()).st_mode, S_IFREG | 0600);
    uint32_t number = put(&catalogue, key_of(1), 11);
    ck_assert_uint_eq(number, 1);
    stk_catalogue_close(&catalogue);
    ck_assert_ptr_null(catalogue.header);
    ck_assert_int_eq(stk_catalogue_open(&catalogue, unit_path(""), false), 0);
    ck_assert_uint_eq(stk_catalogue_find(&catalogue, key_of(1)), number);
    ck_assert_uint_eq(size_of(key_of(1)), 11);
    ck_assert_uint_eq(stk_catalogue_find(&catalogue, key_of(2)), 0);
}
END_TEST

/* Joins in a child, so that the child's end is the end of the view. A signal ends it. */
static pid_t join_in_child(void)
{
    struct stk_catalogue joined = {.header = NULL};
    int ready[2];
    char byte;
    ck_assert_int_eq(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        bool well = stk_catalogue_join(&joined, unit_path(""), false) == 0;
        if (write(ready[1], well ? "1" : "0", 1) == 1) {
            pause();
        }
        _exit(1);
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    ck_assert_int_eq(byte, '1');
    close(ready[0]);
    close(ready[1]);
    return child;
}

START_TEST(who_joins_keeps_it)
{
    UNIT_NEEDS_PRIVATE();
    ck_assert_int_eq(stk_catalogue_lock(unit_path("")), -ENOENT);
    open_new();
    pid_t child = join_in_child();
    ck_assert_int_eq(stk_catalogue_lock(unit_path("")), -EBUSY);
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    int alone = stk_catalogue_lock(unit_path(""));
    ck_assert_int_ge(alone, 0);
    struct stk_catalogue late = {.header = NULL};
    ck_assert_int_eq(stk_catalogue_join(&late, unit_path(""), true), -EAGAIN);
    ck_assert_ptr_null(late.header);
    atomic_store(&catalogue.header->closed, 1);
    close(alone);
    ck_assert_int_eq(stk_catalogue_join(&late, unit_path(""), true), -EAGAIN);
    atomic_store(&catalogue.header->closed, 0);
    ck_assert_int_eq(stk_catalogue_join(&late, unit_path(""), true), 0);
    ck_assert_int_eq(stk_catalogue_lock(unit_path("")), -EBUSY);
    stk_catalogue_close(&late);
    alone = stk_catalogue_lock(unit_path(""));
    ck_assert_int_ge(alone, 0);
    close(alone);
}
END_TEST

START_TEST(numbers_that_are_none)
{
    UNIT_NEEDS_PRIVATE();
    open_new();
    ck_assert_ptr_null(stk_catalogue_record(&catalogue, 0));
    ck_assert_ptr_null(stk_catalogue_record(&catalogue, 1));
    ck_assert_ptr_null(stk_catalogue_record(&catalogue, UINT32_MAX));
    ck_assert_uint_eq(put(&catalogue, key_of(1), 1), 1);
    ck_assert_ptr_nonnull(stk_catalogue_record(&catalogue, 1));
    ck_assert_ptr_null(stk_catalogue_record(&catalogue, STK_SEGMENT_RECORDS + 1));
}
END_TEST

START_TEST(many_keys_over_several_nodes)
{
    UNIT_NEEDS_PRIVATE();
    open_new();
    for (uint64_t i = 0; i < MANY; i++) {
        ck_assert_uint_eq(put(&catalogue, key_of(i), i), i + 1);
    }
    ck_assert_uint_eq(segments_of(STK_AREA_RECORDS), MANY / STK_SEGMENT_RECORDS + 1);
    stk_catalogue_close(&catalogue);
    open_new();
    for (uint64_t i = 0; i < MANY; i++) {
        ck_assert_uint_eq(size_of(key_of(i)), i);
        ck_assert_uint_eq(stk_catalogue_find(&catalogue, key_of(MANY + i)), 0);
    }
}
END_TEST

/* At every size, not only where a step of the index has just been filled. */
START_TEST(a_file_takes_160_bytes)
{
    UNIT_NEEDS_PRIVATE();
    open_new();
    for (uint64_t i = 0; i < MANY; i++) {
        ck_assert_uint_ne(put(&catalogue, key_of(i), i), 0);
        if (i > 65000 && i % 5000 == 0) {
            ck_assert_int_lt(unit_stat(file()).st_blocks * 512, (int64_t)i * 160 + (2 << 20));
        }
    }
}
END_TEST

/* Windows that this process mapped before another made the file longer. */
START_TEST(another_process_adds)
{
    UNIT_NEEDS_PRIVATE();
    static struct stk_catalogue other;
    open_new();
    ck_assert_uint_eq(put(&catalogue, key_of(0), 0), 1);
    ck_assert_int_eq(stk_catalogue_open(&other, unit_path(""), false), 0);
    for (uint64_t i = 1; i < MANY; i++) {
        ck_assert_uint_ne(put(&other, key_of(i), i), 0);
        if (i % 1000 == 0) {
            ck_assert_uint_eq(size_of(key_of(i)), i);
        }
    }
    stk_catalogue_close(&other);
}
END_TEST

START_TEST(what_is_given_back_is_taken_again)
{
    UNIT_NEEDS_PRIVATE();
    open_new();
    uint32_t first = stk_catalogue_allocate(&catalogue, key_of(1));
    stk_catalogue_record(&catalogue, first)->size = 1;
    stk_catalogue_give_back(&catalogue, first);
    ck_assert_uint_eq(stk_catalogue_allocate(&catalogue, key_of(2)), first);
    ck_assert_uint_eq(stk_catalogue_record(&catalogue, first)->size, 0);
    uint32_t second = stk_catalogue_allocate(&catalogue, key_of(3));
    stk_catalogue_give_back(&catalogue, first); /* not the last one any more: lost */
    ck_assert_uint_eq(stk_catalogue_allocate(&catalogue, key_of(4)), second + 1);
}
END_TEST

START_TEST(replaces)
{
    UNIT_NEEDS_PRIVATE();
    open_new();
    for (uint64_t i = 0; i < MANY / 3; i++) {
        ck_assert_uint_ne(put(&catalogue, key_of(i), 1), 0);
    }
    for (uint64_t i = 0; i < MANY / 3; i += 7) {
        uint32_t older = stk_catalogue_find(&catalogue, key_of(i));
        uint32_t newer = stk_catalogue_allocate(&catalogue, key_of(i));
        stk_catalogue_record(&catalogue, newer)->size = 2;
        ck_assert(!stk_catalogue_replace(&catalogue, key_of(i), newer, older));
        ck_assert(stk_catalogue_replace(&catalogue, key_of(i), older, newer));
        ck_assert(!stk_catalogue_replace(&catalogue, key_of(i), older, newer));
        ck_assert_uint_eq(stk_catalogue_find(&catalogue, key_of(i)), newer);
    }
    for (uint64_t i = 0; i < MANY / 3; i++) {
        ck_assert_uint_eq(size_of(key_of(i)), i % 7 == 0 ? 2 : 1);
    }
    ck_assert(!stk_catalogue_replace(&catalogue, key_of(MANY), 1, 2));
}
END_TEST

/* If the index keeps the same part of two keys, their records distinguish them. */
START_TEST(equal_tags)
{
    UNIT_NEEDS_PRIVATE();
    open_new();
    for (uint64_t i = 0; i < 48; i++) { /* one way through eight nodes */
        struct stk_hash128 key = {.low = i, .high = UINT64_C(0x1234567800000001)};
        ck_assert_uint_eq(put(&catalogue, key, i), i + 1);
    }
    for (uint64_t i = 0; i < 48; i++) {
        struct stk_hash128 key = {.low = i, .high = UINT64_C(0x1234567800000001)};
        ck_assert_uint_eq(size_of(key), i);
        ck_assert_uint_eq(put(&catalogue, key, i), i + 1);
        key.high++;
        ck_assert_uint_eq(stk_catalogue_find(&catalogue, key), 0);
    }
    ck_assert_uint_lt(atomic_load(&catalogue.header->areas.counts[STK_AREA_NODES].next), 2048);
}
END_TEST

struct inserter {
    struct stk_catalogue *catalogue;
    uint32_t numbers[20000];
};

static void *insert_all(void *context)
{
    struct inserter *inserter = context;
    for (uint64_t i = 0; i < 20000; i++) {
        inserter->numbers[i] = put(inserter->catalogue, key_of(i), i);
    }
    return NULL;
}

START_TEST(inserters_of_one_key_agree_in_threads)
{
    UNIT_NEEDS_PRIVATE();
    static struct inserter inserters[4];
    pthread_t threads[4];
    open_new();
    for (int i = 0; i < 4; i++) {
        inserters[i].catalogue = &catalogue;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, insert_all, &inserters[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    }
    for (uint64_t key = 0; key < 20000; key++) {
        uint32_t number = stk_catalogue_find(&catalogue, key_of(key));
        ck_assert_uint_ne(number, 0);
        for (int i = 0; i < 4; i++) {
            ck_assert_uint_eq(inserters[i].numbers[key], number);
        }
    }
}
END_TEST

static void insert_in_child(struct inserter *inserter)
{
    static struct stk_catalogue mine;
    inserter->catalogue = &mine;
    if (stk_catalogue_open(&mine, unit_path(""), true) != 0) {
        _exit(1);
    }
    insert_all(inserter);
    _exit(0);
}

/* Also of the file itself: all of them make it if it is not there. */
START_TEST(inserters_of_one_key_agree_in_processes)
{
    UNIT_NEEDS_PRIVATE();
    int status;
    struct inserter *inserters = mmap(NULL, 4 * sizeof *inserters, PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(inserters, MAP_FAILED);
    for (int i = 0; i < 4; i++) {
        pid_t pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
            insert_in_child(&inserters[i]);
        }
    }
    for (int i = 0; i < 4; i++) {
        ck_assert_int_gt(wait(&status), 0);
        ck_assert_int_eq(status, 0);
    }
    open_new();
    for (uint64_t key = 0; key < 20000; key++) {
        uint32_t number = stk_catalogue_find(&catalogue, key_of(key));
        ck_assert_uint_ne(number, 0);
        for (int i = 0; i < 4; i++) {
            ck_assert_uint_eq(inserters[i].numbers[key], number);
        }
    }
}
END_TEST

/* ---- no room ---- */

START_TEST(no_room_for_the_file)
{
    UNIT_NEEDS_PRIVATE();
    const char *small = unit_directory("small");
    unit_mount_tmpfs(small, "size=256k");
    ck_assert_int_eq(stk_catalogue_open(&catalogue, small, true), -ENOSPC);
    ck_assert_ptr_null(catalogue.header);
    ck_assert_int_eq(stk_catalogue_open(&catalogue, small, false), -ENOENT);
}
END_TEST

/* A full tmpfs is an error code, and what is known stays known. */
START_TEST(no_room_to_grow)
{
    UNIT_NEEDS_PRIVATE();
    const char *small = unit_directory("small");
    unit_mount_tmpfs(small, "size=3m");
    ck_assert_int_eq(stk_catalogue_open(&catalogue, small, true), 0);
    uint64_t known = 0;
    while (put(&catalogue, key_of(known), known) != 0) {
        known++;
        ck_assert_uint_lt(known, MANY);
    }
    ck_assert_uint_ge(known, STK_SEGMENT_RECORDS);
    for (uint64_t i = 0; i < known; i++) {
        ck_assert_uint_eq(size_of(key_of(i)), i);
    }
    ck_assert_uint_eq(put(&catalogue, key_of(known), 0), 0);
    ck_assert_uint_eq(stk_catalogue_find(&catalogue, key_of(known)), 0);
}
END_TEST

/* The tier on the same file system pays, and does not pay more than it has. */
START_TEST(growth_is_charged)
{
    UNIT_NEEDS_PRIVATE();
    open_new();
    struct stk_tier_shared *tier = &catalogue.header->tiers[0];
    tier->dev = catalogue.file.dev;
    stk_budget_set(&tier->budget, 1024 + 100, 10);
    atomic_store(&tier->setup, STK_TIER_READY);
    ck_assert_int_eq(stk_catalogue_capacity(&catalogue, 0), STK_SEGMENT_RECORDS);
    ck_assert_int_eq(stk_catalogue_capacity(&catalogue, 5 * 160 / 32), STK_SEGMENT_RECORDS + 80);
    ck_assert_int_eq(stk_catalogue_growth(&catalogue, 0), 0);
    ck_assert_int_eq(stk_catalogue_growth(&catalogue, 1), 1024);
    ck_assert_uint_ne(put(&catalogue, key_of(0), 0), 0);
    ck_assert_int_eq(atomic_load(&tier->budget.used_blocks), 1024);
    ck_assert_int_eq(stk_catalogue_charged(&catalogue), 1024);
    ck_assert_int_eq(stk_catalogue_growth(&catalogue, STK_SEGMENT_RECORDS), 0);
    ck_assert_int_eq(stk_catalogue_growth(&catalogue, STK_SEGMENT_RECORDS + 1), 1024);
    atomic_store(&tier->budget.headroom_blocks, 1000);
    ck_assert_int_eq(stk_catalogue_growth(&catalogue, STK_SEGMENT_RECORDS + 1), 24);
    atomic_store(&tier->budget.headroom_blocks, 0);
    uint64_t known = 1;
    while (put(&catalogue, key_of(known), known) != 0) {
        known++;
    }
    ck_assert_uint_eq(known, STK_SEGMENT_RECORDS);
    ck_assert_int_eq(stk_catalogue_capacity(&catalogue, 0), STK_SEGMENT_RECORDS);
    ck_assert_int_eq(atomic_load(&tier->budget.used_blocks), 1024);
    ck_assert_int_eq(atomic_load(&tier->budget.used_inodes), 0);
}
END_TEST

/* ---- files that are not ours to trust ---- */

START_TEST(only_on_a_tmpfs)
{
    char name[] = "/var/tmp/stoker-unit-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(name));
    int error = stk_catalogue_open(&catalogue, name, true);
    rmdir(name);
    ck_assert_int_eq(error, -EMEDIUMTYPE);
}
END_TEST

START_TEST(foreign_files)
{
    UNIT_NEEDS_PRIVATE();
    open_new();
    stk_catalogue_close(&catalogue);
    ck_assert_int_eq(chmod(file(), 0640), 0);
    ck_assert_int_eq(stk_catalogue_open(&catalogue, unit_path(""), true), -EPERM);
    ck_assert_int_eq(chmod(file(), 0600), 0);
    ck_assert_int_eq(rename(file(), unit_path("elsewhere")), 0);
    ck_assert_int_eq(symlink("elsewhere", file()), 0);
    ck_assert_int_eq(stk_catalogue_open(&catalogue, unit_path(""), true), -ELOOP);
    ck_assert_int_eq(unlink(file()), 0);
    ck_assert_int_eq(mkfifo(file(), 0600), 0);
    ck_assert_int_eq(stk_catalogue_open(&catalogue, unit_path(""), true), -EPERM);
    ck_assert_int_eq(unlink(file()), 0);
    ck_assert_int_eq(mkdir(file(), 0700), 0);
    ck_assert_int_eq(stk_catalogue_open(&catalogue, unit_path(""), true), -EISDIR);
    ck_assert_ptr_null(catalogue.header);
}
END_TEST

START_TEST(file_of_another_user)
{
    UNIT_NEEDS_ROOT();
    open_new();
    stk_catalogue_close(&catalogue);
    ck_assert_int_eq(chown(file(), 1234, 1234), 0);
    ck_assert_int_eq(stk_catalogue_open(&catalogue, unit_path(""), true), -EPERM);
}
END_TEST

static void spoil(off_t offset, uint64_t with)
{
    int fd = open(file(), O_WRONLY);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pwrite(fd, &with, sizeof with, offset), sizeof with);
    close(fd);
}

START_TEST(torn_files)
{
    UNIT_NEEDS_PRIVATE();
    open_new();
    uint64_t magic = catalogue.header->magic;
    stk_catalogue_close(&catalogue);
    spoil(0, magic + 1); /* another version */
    ck_assert_int_eq(stk_catalogue_open(&catalogue, unit_path(""), true), -EPROTO);
    spoil(0, magic);
    spoil(8, 1); /* another layout */
    ck_assert_int_eq(stk_catalogue_open(&catalogue, unit_path(""), true), -EPROTO);
    ck_assert_ptr_null(catalogue.header);
    ck_assert_int_eq(truncate(file(), 100), 0);
    ck_assert_int_eq(stk_catalogue_open(&catalogue, unit_path(""), true), -EPROTO);
    ck_assert_int_eq(truncate(file(), 0), 0);
    ck_assert_int_eq(stk_catalogue_open(&catalogue, unit_path(""), true), -EPROTO);
    ck_assert_ptr_null(catalogue.header);
}
END_TEST

/* Children that lead back, to the roots, or to nowhere: each search ends. */
START_TEST(an_index_in_circles)
{
    UNIT_NEEDS_PRIVATE();
    const struct stk_hash128 key = {.low = 1000, .high = UINT64_C(0x5555555500000000)};
    open_new();
    for (uint64_t i = 0; i < 7; i++) {
        ck_assert_uint_ne(put(&catalogue, (struct stk_hash128){.low = i, .high = key.high}, i), 0);
    }
    uint32_t next = atomic_load(&catalogue.header->areas.counts[STK_AREA_NODES].next);
    const uint32_t wrong[] = {next - 2, 1, next, UINT32_MAX};
    struct stk_index_node *node =
        stk_area_item(&catalogue.file, &catalogue.header->areas, STK_AREA_NODES, next - 2);
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned child = 0; child < STK_NODE_CHILDREN; child++) {
            atomic_store(&node->children[child], wrong[i]);
        }
        ck_assert_uint_eq(stk_catalogue_find(&catalogue, key), 0);
        stk_catalogue_insert(&catalogue, key, 1);
    }
}
END_TEST

/* The header promises more than the file holds: no record is known, no byte behind the end is
 * touched. */
START_TEST(truncated_files)
{
    UNIT_NEEDS_PRIVATE();
    open_new();
    ck_assert_uint_eq(put(&catalogue, key_of(1), 1), 1);
    stk_catalogue_close(&catalogue);
    off_t before_records = stk_area_extent(STK_AREA_RECORDS, 0).offset;
    ck_assert_int_eq(truncate(file(), before_records), 0);
    open_new();
    ck_assert_uint_eq(stk_catalogue_find(&catalogue, key_of(1)), 0);
    ck_assert_ptr_null(stk_catalogue_record(&catalogue, 1));
    ck_assert_uint_eq(stk_catalogue_allocate(&catalogue, key_of(2)), 0);
    stk_catalogue_close(&catalogue);
    ck_assert_int_eq(truncate(file(), 256 << 10), 0); /* header only */
    open_new();
    ck_assert_uint_eq(stk_catalogue_find(&catalogue, key_of(1)), 0);
    ck_assert_uint_eq(stk_catalogue_insert(&catalogue, key_of(1), 1), 0);
}
END_TEST

START_TEST(unlinked_and_replaced_while_mapped)
{
    UNIT_NEEDS_PRIVATE();
    static struct stk_catalogue newer;
    open_new();
    ck_assert_uint_eq(put(&catalogue, key_of(1), 1), 1);
    ck_assert(stk_catalogue_is_current(&catalogue));
    ck_assert_int_eq(unlink(file()), 0);
    ck_assert(!stk_catalogue_is_current(&catalogue));
    ck_assert_int_eq(stk_catalogue_open(&newer, unit_path(""), true), 0);
    ck_assert(!stk_catalogue_is_current(&catalogue));
    ck_assert(stk_catalogue_is_current(&newer));
    /* The old one is still there to be read, and grows no more: least of all in the new file. */
    ck_assert_uint_eq(stk_catalogue_find(&catalogue, key_of(1)), 1);
    uint64_t known = 1;
    while (put(&catalogue, key_of(known + 1), 0) != 0) {
        known++;
    }
    ck_assert_uint_le(known, STK_SEGMENT_RECORDS);
    ck_assert_uint_eq(stk_catalogue_find(&newer, key_of(1)), 0);
    ck_assert_uint_eq(atomic_load(&newer.header->areas.counts[STK_AREA_RECORDS].segments), 0);
}
END_TEST

START_TEST(closed)
{
    UNIT_NEEDS_PRIVATE();
    open_new();
    atomic_store(&catalogue.header->closed, 1);
    ck_assert(!stk_catalogue_is_current(&catalogue));
}
END_TEST

static int find_without_descriptors(void *context)
{
    struct rlimit none = {0, 0};
    (void)context;
    if (setrlimit(RLIMIT_NOFILE, &none) != 0 || stk_catalogue_find(&catalogue, key_of(1)) != 0) {
        return 1;
    }
    return put(&catalogue, key_of(2), 2) == 0 ? 0 : 2;
}

/* A program that has used up its descriptors gets no answers, and nothing else. */
START_TEST(no_descriptors)
{
    UNIT_NEEDS_PRIVATE();
    open_new();
    ck_assert_uint_eq(put(&catalogue, key_of(1), 1), 1);
    stk_catalogue_close(&catalogue);
    open_new();
    ck_assert_int_eq(unit_in_child(find_without_descriptors, NULL), 0);
    ck_assert_uint_eq(stk_catalogue_find(&catalogue, key_of(1)), 1);
}
END_TEST

START_TEST(a_mark_is_read_without_a_map)
{
    uint32_t kept_by_run = 1;
    char home[STK_HOME_BYTES], path[STK_HOME_BYTES + 16];
    ck_assert(stk_home_path(home, "/dev/shm"));
    ck_assert_int_eq(stk_home_ensure(home), 0);
    ck_assert_int_eq(stk_catalogue_open(&catalogue, home, true), 0);
    snprintf(path, sizeof path, "%s/catalogue", home);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(stk_catalogue_read_kept_by_run(fd, &kept_by_run), 0);
    ck_assert_uint_eq(kept_by_run, 0);
    atomic_store(&catalogue.header->kept_by_run, 17);
    ck_assert_int_eq(stk_catalogue_read_kept_by_run(fd, &kept_by_run), 0);
    ck_assert_uint_eq(kept_by_run, 17);
    stk_catalogue_close(&catalogue);
    ck_assert_int_eq(pwrite(fd, "x", 1, 0), 1);
    ck_assert_int_eq(stk_catalogue_read_kept_by_run(fd, &kept_by_run), -EPROTO);
    ck_assert_int_eq(ftruncate(fd, 7), 0);
    ck_assert_int_eq(stk_catalogue_read_kept_by_run(fd, &kept_by_run), -EPROTO);
    close(fd);
}
END_TEST

START_TEST(no_record_has_the_number_zero)
{
    open_new();
    stk_catalogue_insert(&catalogue, key_of(1), 0);
}
END_TEST

START_TEST(a_record_lies_within_its_area)
{
    open_new();
    uint32_t number = put(&catalogue, key_of(1), 1);
    stk_catalogue_replace(&catalogue, key_of(1), number,
                          STK_AREA_SEGMENTS * STK_SEGMENT_RECORDS + 1);
}
END_TEST

Suite *suite_catalogue(void)
{
    Suite *suite = suite_create("catalogue");
    TCase *keys = unit_case(suite, "catalogue_keys");
    tcase_add_test(keys, opens_and_reopens);
    tcase_add_test(keys, who_joins_keeps_it);
    tcase_add_test(keys, numbers_that_are_none);
    tcase_add_test(keys, many_keys_over_several_nodes);
    tcase_add_test(keys, a_file_takes_160_bytes);
    tcase_add_test(keys, another_process_adds);
    tcase_add_test(keys, what_is_given_back_is_taken_again);
    tcase_add_test(keys, replaces);
    tcase_add_test(keys, equal_tags);
    TCase *bounds = unit_case(suite, "catalogue_invariants");
    tcase_add_test_raise_signal(bounds, no_record_has_the_number_zero, SIGABRT);
    tcase_add_test_raise_signal(bounds, a_record_lies_within_its_area, SIGABRT);
    TCase *race = unit_case(suite, "catalogue_race");
    tcase_add_test(race, inserters_of_one_key_agree_in_threads);
    tcase_add_test(race, inserters_of_one_key_agree_in_processes);
    TCase *room = unit_case(suite, "catalogue_room");
    tcase_add_test(room, no_room_for_the_file);
    tcase_add_test(room, no_room_to_grow);
    tcase_add_test(room, growth_is_charged);
    TCase *trust = unit_case(suite, "catalogue_file");
    tcase_add_test(trust, only_on_a_tmpfs);
    tcase_add_test(trust, foreign_files);
    tcase_add_test(trust, file_of_another_user);
    tcase_add_test(trust, torn_files);
    tcase_add_test(trust, an_index_in_circles);
    tcase_add_test(trust, truncated_files);
    tcase_add_test(trust, unlinked_and_replaced_while_mapped);
    tcase_add_test(trust, closed);
    tcase_add_test(trust, no_descriptors);
    tcase_add_test(trust, a_mark_is_read_without_a_map);
    return suite;
}
