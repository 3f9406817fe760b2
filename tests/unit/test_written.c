/* cache/written.c */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cache/home.h"
#include "cache/written.h"

#define HOME "/dev/shm/stoker-0"

static struct stk_catalogue_header header;
/* Without a file: the table cannot grow. */
static struct stk_catalogue catalogue = {.header = &header};

START_TEST(seconds_round_down_from_one)
{
    ck_assert_uint_eq(stk_written_seconds(0), 1);
    ck_assert_uint_eq(stk_written_seconds(STK_NS_PER_S - 1), 1);
    ck_assert_uint_eq(stk_written_seconds(STK_NS_PER_S), 2);
}
END_TEST

START_TEST(marks_inodes)
{
    int64_t now = stk_clock_boottime_ns();
    memset(&header, 0, sizeof header);
    ck_assert(!stk_written_has_inode(&catalogue, 5, 7, 0));
    stk_written_mark_inode(&catalogue, 5, 7);
    stk_written_mark_inode(&catalogue, 5, 7);
    ck_assert(stk_written_has_inode(&catalogue, 5, 7, now));
    ck_assert(stk_written_has_inode(&catalogue, 5, 7, 0));
    ck_assert(!stk_written_has_inode(&catalogue, 7, 5, 0));
    ck_assert(!stk_written_has_inode(&catalogue, 5, 8, 0));
}
END_TEST

START_TEST(marks_before_the_run_do_not_count)
{
    memset(&header, 0, sizeof header);
    stk_written_mark_inode(&catalogue, 5, 7);
    int64_t now = stk_clock_boottime_ns();
    /* In the run's first second a mark may be of before or after its start: it counts. */
    ck_assert(stk_written_has_inode(&catalogue, 5, 7, now));
    ck_assert(!stk_written_has_inode(&catalogue, 5, 7, now + 2 * STK_NS_PER_S));
    ck_assert(!stk_written_has_inode(&catalogue, 5, 7, now + 1000 * STK_NS_PER_S));
}
END_TEST

/* However many inodes are marked, each one counts as marked; others seldom do. */
START_TEST(overflow_errs_on_the_safe_side)
{
    int64_t now = stk_clock_boottime_ns();
    memset(&header, 0, sizeof header);
    for (uint64_t ino = 1; ino <= 2000; ino++) {
        stk_written_mark_inode(&catalogue, 1, ino);
    }
    int wrong = 0;
    for (uint64_t ino = 1; ino <= 2000; ino++) {
        ck_assert(stk_written_has_inode(&catalogue, 1, ino, now));
        wrong += stk_written_has_inode(&catalogue, 2, ino, now);
    }
    ck_assert_int_lt(wrong, 20);
    for (uint64_t ino = 2001; ino <= 40000; ino++) {
        stk_written_mark_inode(&catalogue, 1, ino);
    }
    for (uint64_t ino = 1; ino <= 40000; ino++) {
        ck_assert(stk_written_has_inode(&catalogue, 1, ino, now));
    }
    ck_assert(!stk_written_has_inode(&catalogue, 1, 1, now + 2 * STK_NS_PER_S));
    ck_assert(!stk_written_has_inode(&catalogue, 2, 1, now + 2 * STK_NS_PER_S));
}
END_TEST

/* With a file the table grows, and stays exact. */
START_TEST(grows_with_what_is_written)
{
    static struct stk_catalogue whole;
    const uint64_t count = 200000;
    int64_t now = stk_clock_boottime_ns();
    UNIT_NEEDS_PRIVATE();
    ck_assert_int_eq(stk_home_ensure(HOME), 0);
    ck_assert_int_eq(stk_catalogue_open(&whole, HOME, true), 0);
    for (uint64_t ino = 1; ino <= count; ino++) {
        stk_written_mark_inode(&whole, 1, ino);
    }
    uint64_t marked = 0, wrong = 0;
    for (uint64_t ino = 1; ino <= count; ino++) {
        marked += stk_written_has_inode(&whole, 1, ino, now);
        wrong += stk_written_has_inode(&whole, 2, ino, now);
    }
    ck_assert_uint_eq(marked, count);
    ck_assert_uint_lt(wrong, count / 1000);
    ck_assert(!stk_written_has_inode(&whole, 1, 1, now + 2 * STK_NS_PER_S));
    ck_assert_uint_eq(atomic_load(&whole.header->written_levels), STK_WRITTEN_LEVELS);
    stk_catalogue_close(&whole);
}
END_TEST

/* A mark that found no room, which there is later, may be any inode's. */
START_TEST(lost_marks_count_for_all_that_went_on)
{
    static struct stk_catalogue whole;
    int64_t now = stk_clock_boottime_ns();
    UNIT_NEEDS_PRIVATE();
    ck_assert_int_eq(stk_home_ensure(HOME), 0);
    ck_assert_int_eq(stk_catalogue_open(&whole, HOME, true), 0);
    char *path = whole.path, kept = *path;
    *path = '\0'; /* cannot be opened, so it cannot grow */
    for (uint64_t ino = 1; ino <= 20000; ino++) {
        stk_written_mark_inode(&whole, 1, ino);
    }
    *path = kept;
    for (uint64_t ino = 20001; ino <= 20100; ino++) {
        stk_written_mark_inode(&whole, 1, ino);
    }
    ck_assert_uint_eq(atomic_load(&whole.header->written_levels), 1);
    for (uint64_t ino = 1; ino <= 20100; ino++) {
        ck_assert(stk_written_has_inode(&whole, 1, ino, now));
    }
    stk_catalogue_close(&whole);
}
END_TEST

/* The bucket of the one inode that is marked. */
static _Atomic uint64_t *only_bucket(void)
{
    for (size_t i = 0; i < STK_WRITTEN_BUCKETS; i++) {
        if (atomic_load(&header.written[i][0]) != 0) {
            return header.written[i];
        }
    }
    ck_abort_msg("no inode is marked");
    return NULL;
}

/* A marker that was slow must not put its earlier time over a later one. */
START_TEST(later_marks_stay)
{
    memset(&header, 0, sizeof header);
    stk_written_mark_inode(&catalogue, 5, 7);
    atomic_fetch_add(&only_bucket()[0], 10); /* ten seconds from now */
    int64_t later = stk_clock_boottime_ns() + 5 * STK_NS_PER_S;
    stk_written_mark_inode(&catalogue, 5, 7);
    ck_assert(stk_written_has_inode(&catalogue, 5, 7, later));
    ck_assert(!stk_written_has_inode(&catalogue, 5, 7, later + 10 * STK_NS_PER_S));
}
END_TEST

START_TEST(later_overflows_stay)
{
    memset(&header, 0, sizeof header);
    stk_written_mark_inode(&catalogue, 5, 7);
    _Atomic uint64_t *bucket = only_bucket();
    for (int slot = 0; slot < STK_WRITTEN_SLOTS - 1; slot++) {
        atomic_store(&bucket[slot], UINT64_MAX); /* of others */
    }
    int64_t later = stk_clock_boottime_ns() + 5 * STK_NS_PER_S;
    atomic_store(&bucket[STK_WRITTEN_SLOTS - 1], stk_written_seconds(later) + 5);
    stk_written_mark_inode(&catalogue, 5, 7);
    ck_assert(stk_written_has_inode(&catalogue, 5, 7, later));
    atomic_store(&bucket[STK_WRITTEN_SLOTS - 1], 1); /* long ago */
    stk_written_mark_inode(&catalogue, 5, 7);
    ck_assert(stk_written_has_inode(&catalogue, 5, 7, later - 6 * STK_NS_PER_S));
}
END_TEST

START_TEST(marks_of_records)
{
    struct stk_record record = {0};
    ck_assert(!stk_written_has_record(&record, 0));
    atomic_store(&record.written_s, stk_written_seconds(100 * STK_NS_PER_S));
    ck_assert(stk_written_has_record(&record, 0));
    ck_assert(stk_written_has_record(&record, 100 * STK_NS_PER_S));
    ck_assert(stk_written_has_record(&record, 101 * STK_NS_PER_S - 1));
    ck_assert(!stk_written_has_record(&record, 101 * STK_NS_PER_S));
}
END_TEST

Suite *suite_written(void)
{
    Suite *suite = suite_create("written");
    TCase *all = unit_case(suite, "written_marks");
    tcase_add_test(all, seconds_round_down_from_one);
    tcase_add_test(all, marks_inodes);
    tcase_add_test(all, marks_before_the_run_do_not_count);
    tcase_add_test(all, overflow_errs_on_the_safe_side);
    tcase_add_test(all, grows_with_what_is_written);
    tcase_add_test(all, lost_marks_count_for_all_that_went_on);
    tcase_add_test(all, later_marks_stay);
    tcase_add_test(all, later_overflows_stay);
    tcase_add_test(all, marks_of_records);
    return suite;
}
