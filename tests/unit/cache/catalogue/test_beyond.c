/* cache/catalogue/catalogue.c and area.c: memory beyond the catalogue's file */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/sys.h"
#include "cache/catalogue/catalogue.h"

#define FILES 40000

static struct stk_catalogue catalogue;
static const char *home;

static struct stk_hash128 key_of(uint64_t number)
{
    return stk_hash_128(&number, sizeof number, 1);
}

static uint32_t put(struct stk_catalogue *into, uint64_t number)
{
    uint32_t record = stk_catalogue_allocate(into, key_of(number));
    if (record == 0) {
        return 0;
    }
    stk_catalogue_record(into, record)->size = number;
    return stk_catalogue_insert(into, key_of(number), record);
}

static uint64_t put_all(struct stk_catalogue *into)
{
    uint64_t known = 0;
    while (known < FILES && put(into, known) != 0) {
        known++;
    }
    return known;
}

static bool knows(struct stk_catalogue *in, uint64_t number)
{
    const struct stk_record *record =
        stk_catalogue_record(in, stk_catalogue_find(in, key_of(number)));
    return record != NULL && record->size == number;
}

static uint64_t count_known(struct stk_catalogue *in)
{
    uint64_t known = 0;
    for (uint64_t i = 0; i < FILES; i++) {
        known += knows(in, i);
    }
    return known;
}

/* Opens the catalogue in a tmpfs that has room for some 8,000 files. */
static void open_small(void)
{
    home = unit_directory("small");
    unit_mount_tmpfs(home, "size=3m");
    ck_assert_int_eq(stk_catalogue_open(&catalogue, home, true), 0);
}

static uint32_t segments_word(enum stk_area_name name)
{
    return atomic_load(&catalogue.header->areas.counts[name].segments);
}

/* Another view sees all of it, and adds to it. */
START_TEST(goes_on_beyond_the_file)
{
    UNIT_NEEDS_PRIVATE();
    static struct stk_catalogue other;
    open_small();
    ck_assert_int_lt(stk_catalogue_capacity(&catalogue, 0), FILES / 2);
    stk_catalogue_extend(&catalogue, FILES, true);
    ck_assert_int_ge(stk_catalogue_capacity(&catalogue, 0), FILES);
    ck_assert_uint_eq(put_all(&catalogue), FILES);
    uint32_t word = segments_word(STK_AREA_RECORDS);
    ck_assert_uint_eq(stk_area_allocated(word), FILES / STK_SEGMENT_RECORDS + 1);
    ck_assert_uint_lt(stk_area_in_file(word), 4);
    ck_assert_int_le(unit_stat(unit_join(home, "/catalogue")).st_blocks * 512, 3 << 20);
    ck_assert_int_eq(stk_catalogue_open(&other, home, false), 0);
    ck_assert_uint_eq(count_known(&other), FILES);
    ck_assert_uint_ne(put(&other, FILES), 0);
    ck_assert(knows(&catalogue, FILES));
    stk_catalogue_close(&other);
}
END_TEST

/* Files that fit into the file take no other memory. */
START_TEST(none_is_made_where_the_file_is_enough)
{
    UNIT_NEEDS_PRIVATE();
    ck_assert_int_eq(stk_catalogue_open(&catalogue, unit_path(""), true), 0);
    stk_catalogue_extend(&catalogue, FILES, true);
    for (unsigned i = 0; i < STK_AREA_WINDOWS; i++) {
        ck_assert_uint_eq(atomic_load(&catalogue.header->areas.beyond[i]), 0);
    }
}
END_TEST

/* The memory goes with the last process that maps it. A run beside others replaces nothing; a run
 * alone does, and the files are known again. */
START_TEST(memory_that_is_gone_is_replaced)
{
    UNIT_NEEDS_PRIVATE();
    open_small();
    stk_catalogue_extend(&catalogue, FILES, true);
    ck_assert_uint_eq(put_all(&catalogue), FILES);
    stk_catalogue_close(&catalogue);
    ck_assert_int_eq(stk_catalogue_open(&catalogue, home, false), 0);
    stk_catalogue_extend(&catalogue, FILES, false);
    uint64_t left = count_known(&catalogue);
    ck_assert_uint_gt(left, 1000);
    ck_assert_uint_lt(left, FILES / 2);
    ck_assert_uint_eq(put(&catalogue, FILES), 0);
    stk_catalogue_extend(&catalogue, FILES, true);
    ck_assert_uint_eq(count_known(&catalogue), left);
    ck_assert_uint_eq(put_all(&catalogue), FILES);
    ck_assert_uint_eq(count_known(&catalogue), FILES);
}
END_TEST

/* The process that made it may end while another maps it. */
START_TEST(a_second_run_holds_it)
{
    UNIT_NEEDS_PRIVATE();
    static struct stk_catalogue other;
    open_small();
    stk_catalogue_extend(&catalogue, FILES, true);
    ck_assert_uint_eq(put_all(&catalogue), FILES);
    ck_assert_int_eq(stk_catalogue_open(&other, home, false), 0);
    stk_catalogue_extend(&other, 0, false);
    stk_catalogue_close(&catalogue);
    ck_assert_int_eq(stk_catalogue_open(&catalogue, home, false), 0);
    ck_assert_uint_eq(count_known(&catalogue), FILES);
    stk_catalogue_close(&other);
}
END_TEST

/* A damaged number may be that of any memory of this user: nothing is read or written there. */
START_TEST(memory_of_others_is_not_taken)
{
    UNIT_NEEDS_PRIVATE();
    const size_t page = 4096, window = 20 << 20;
    void *mapped[2];
    open_small();
    int small = stk_sys_shm_make(page, &mapped[0]);
    int large = stk_sys_shm_make(window + 24, &mapped[1]);
    ck_assert_int_ge(small, 0);
    ck_assert_int_ge(large, 0);
    ck_assert_ptr_null(stk_sys_shm_map(large, window));
    const uint32_t wrong[] = {(uint32_t)small + 1, (uint32_t)large + 1, 12345, UINT32_MAX};
    for (unsigned i = 0; i < 4; i++) {
        atomic_store(&catalogue.header->areas.beyond[0], wrong[i]);
        stk_catalogue_extend(&catalogue, FILES, false);
        ck_assert_ptr_null(catalogue.file.beyond[0]);
    }
    ck_assert_uint_lt(put_all(&catalogue), FILES / 2);
    for (size_t i = 0; i < window; i += page) {
        ck_assert_int_eq(((const char *)mapped[1])[i], 0);
    }
}
END_TEST

/* A damaged word may say that segments lie elsewhere than they do: others are not found then. */
START_TEST(words_that_are_none)
{
    UNIT_NEEDS_PRIVATE();
    open_small();
    stk_catalogue_extend(&catalogue, FILES, true);
    ck_assert_uint_eq(put_all(&catalogue), FILES);
    const uint32_t right = segments_word(STK_AREA_RECORDS);
    const uint32_t wrong[] = {stk_area_end_file(0) + 10, stk_area_end_file(1) + 16000,
                              stk_area_end_file(0) | UINT16_MAX, 0};
    for (unsigned i = 0; i < 4; i++) {
        static struct stk_catalogue other;
        atomic_store(&catalogue.header->areas.counts[STK_AREA_RECORDS].segments, wrong[i]);
        ck_assert_int_eq(stk_catalogue_open(&other, home, false), 0);
        ck_assert_uint_le(count_known(&other), FILES);
        atomic_store(&catalogue.header->areas.counts[STK_AREA_RECORDS].segments, right);
        ck_assert_uint_le(count_known(&other), FILES);
        stk_catalogue_close(&other);
    }
    ck_assert_uint_eq(count_known(&catalogue), FILES);
}
END_TEST

/* The tier in the catalogue's file system pays for memory beyond the file, too. */
START_TEST(is_charged)
{
    UNIT_NEEDS_PRIVATE();
    open_small();
    struct stk_tier_shared *tier = &catalogue.header->tiers[0];
    tier->dev = catalogue.file.dev;
    stk_budget_set(&tier->budget, 4 * 1024, 10); /* 2 MiB */
    atomic_store(&tier->setup, STK_TIER_READY);
    stk_catalogue_extend(&catalogue, FILES, true);
    ck_assert_int_lt(stk_catalogue_capacity(&catalogue, 4 * 1024), 20000);
    uint64_t known = put_all(&catalogue);
    ck_assert_uint_ge(known, 3 * STK_SEGMENT_RECORDS);
    ck_assert_uint_le(known, 4 * STK_SEGMENT_RECORDS);
    ck_assert_int_le(atomic_load(&tier->budget.used_blocks), 4 * 1024);
}
END_TEST

static void insert_in_child(uint32_t *numbers)
{
    static struct stk_catalogue mine;
    if (stk_catalogue_open(&mine, home, false) != 0) {
        _exit(1);
    }
    for (uint64_t i = 0; i < FILES; i++) {
        numbers[i] = put(&mine, i);
    }
    _exit(0);
}

/* All of them come to the file's end at once. */
START_TEST(processes_agree_where_the_file_ends)
{
    UNIT_NEEDS_PRIVATE();
    int status;
    uint32_t(*numbers)[FILES] =
        mmap(NULL, 4 * sizeof *numbers, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(numbers, MAP_FAILED);
    open_small();
    stk_catalogue_extend(&catalogue, 8 * FILES, true);
    for (int i = 0; i < 4; i++) {
        pid_t pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
            insert_in_child(numbers[i]);
        }
    }
    for (int i = 0; i < 4; i++) {
        ck_assert_int_gt(wait(&status), 0);
        ck_assert_int_eq(status, 0);
    }
    for (uint64_t key = 0; key < FILES; key++) {
        ck_assert(knows(&catalogue, key));
        for (int i = 0; i < 4; i++) {
            ck_assert_uint_eq(numbers[i][key], stk_catalogue_find(&catalogue, key_of(key)));
        }
    }
}
END_TEST

Suite *suite_beyond(void)
{
    Suite *suite = suite_create("beyond");
    TCase *all = unit_case(suite, "memory_beyond_the_file");
    tcase_add_test(all, goes_on_beyond_the_file);
    tcase_add_test(all, none_is_made_where_the_file_is_enough);
    tcase_add_test(all, memory_that_is_gone_is_replaced);
    tcase_add_test(all, a_second_run_holds_it);
    tcase_add_test(all, memory_of_others_is_not_taken);
    tcase_add_test(all, words_that_are_none);
    tcase_add_test(all, is_charged);
    tcase_add_test(all, processes_agree_where_the_file_ends);
    return suite;
}
