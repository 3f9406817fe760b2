/* cache/catalogue/changes.c */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cache/catalogue/changes.h"
#include "cache/catalogue/home.h"

#define HOME      "/dev/shm/stoker-0"
#define LAST_SLOT (STK_CHANGES_SLOTS - 1)

static struct stk_catalogue_header header;
/* Without a file: the table cannot grow. */
static struct stk_catalogue catalogue = {.header = &header};

static void begin(void)
{
    memset(&header, 0, sizeof header);
}

static uint64_t inode(uint64_t dev, uint64_t ino)
{
    return stk_changes_inode(dev, ino);
}

static void note(struct stk_catalogue *where, uint64_t hash, enum stk_changes_kind kind)
{
    stk_changes_note(where, hash, kind, NULL);
}

static bool is_written(struct stk_catalogue *where, uint64_t hash, int64_t since_ns)
{
    return stk_changes_last(where, hash).written_ns > since_ns;
}

static bool is_changed(uint64_t hash, int64_t since_ns)
{
    return stk_changes_last(&catalogue, hash).changed_ns > since_ns;
}

START_TEST(what_was_never_noted)
{
    begin();
    ck_assert(stk_changes_none_since(&catalogue, 1));
    ck_assert(!is_written(&catalogue, inode(5, 7), 0));
    ck_assert(!is_changed(inode(5, 7), 0));
    ck_assert(!is_changed(0, 0));
}
END_TEST

START_TEST(each_kind_for_itself)
{
    int64_t before = stk_clock_boottime_ns();
    begin();
    note(&catalogue, inode(5, 7), STK_WRITTEN);
    note(&catalogue, inode(5, 7), STK_WRITTEN);
    note(&catalogue, inode(6, 7), STK_CHANGED);
    ck_assert(!stk_changes_none_since(&catalogue, INT64_MAX)); /* what is written counts for long */
    ck_assert(is_written(&catalogue, inode(5, 7), before));
    ck_assert(!is_changed(inode(5, 7), 0));
    ck_assert(is_changed(inode(6, 7), before));
    ck_assert(!is_written(&catalogue, inode(6, 7), 0));
    ck_assert(!is_written(&catalogue, inode(7, 5), 0));
    ck_assert(!is_written(&catalogue, inode(5, 8), 0));
}
END_TEST

/* Never before the call that it was made for, and hardly after. */
START_TEST(times_are_rounded_up)
{
    begin();
    for (int i = 0; i < 100; i++) {
        int64_t before = stk_clock_boottime_ns();
        note(&catalogue, 1000, STK_CHANGED);
        int64_t noted = stk_changes_last(&catalogue, 1000).changed_ns;
        ck_assert_int_gt(noted, before);
        ck_assert_int_lt(noted, stk_clock_boottime_ns() + 1000000 * (i + 1));
    }
}
END_TEST

START_TEST(none_since)
{
    begin();
    int64_t before = stk_clock_boottime_ns();
    note(&catalogue, 1000, STK_CHANGED);
    ck_assert(!stk_changes_none_since(&catalogue, before));
    ck_assert(stk_changes_none_since(&catalogue, stk_clock_boottime_ns() + 1));
    note(&catalogue, 2000, STK_WRITTEN);
    ck_assert(!stk_changes_none_since(&catalogue, stk_clock_boottime_ns() + 1));
}
END_TEST

START_TEST(later_of_two)
{
    struct stk_changes a = {1, 4}, b = {3, 2};
    ck_assert_int_eq(stk_changes_later(a, b).changed_ns, 3);
    ck_assert_int_eq(stk_changes_later(a, b).written_ns, 4);
    ck_assert_int_eq(stk_changes_later(b, a).changed_ns, 3);
    ck_assert_int_eq(stk_changes_later(b, a).written_ns, 4);
}
END_TEST

/* However many are written, each one counts as written; others seldom do. */
START_TEST(overflow_errs_on_the_safe_side)
{
    int64_t now = stk_clock_boottime_ns(), hour = 3600 * STK_NS_PER_S;
    begin();
    for (uint64_t ino = 1; ino <= 4000; ino++) {
        note(&catalogue, inode(1, ino), STK_WRITTEN);
    }
    int wrong = 0;
    for (uint64_t ino = 1; ino <= 4000; ino++) {
        ck_assert(is_written(&catalogue, inode(1, ino), now));
        wrong += is_written(&catalogue, inode(2, ino), 0);
    }
    ck_assert_int_lt(wrong, 40);
    for (uint64_t ino = 4001; ino <= 80000; ino++) {
        note(&catalogue, inode(1, ino), STK_WRITTEN);
    }
    for (uint64_t ino = 1; ino <= 80000; ino++) {
        ck_assert(is_written(&catalogue, inode(1, ino), now));
    }
    ck_assert(!is_written(&catalogue, inode(1, 1), now + hour));
    ck_assert(!is_written(&catalogue, inode(2, 1), now + hour));
}
END_TEST

/* Changes give way, but are not forgotten: what shares their bucket counts as changed then. */
START_TEST(changes_give_way)
{
    int64_t now = stk_clock_boottime_ns();
    begin();
    for (uint64_t ino = 1; ino <= 80000; ino++) {
        note(&catalogue, inode(1, ino), STK_CHANGED);
    }
    for (uint64_t ino = 1; ino <= 80000; ino++) {
        ck_assert(is_changed(inode(1, ino), now));
        ck_assert(!is_written(&catalogue, inode(1, ino), 0));
    }
    for (uint64_t ino = 1; ino <= 20000; ino++) {
        note(&catalogue, inode(3, ino), STK_WRITTEN);
    }
    for (uint64_t ino = 1; ino <= 80000; ino++) {
        ck_assert(is_changed(inode(1, ino), now));
    }
    note(&catalogue, inode(4, 4), STK_CHANGED); /* where all is written */
    ck_assert(is_changed(inode(4, 4), now));
}
END_TEST

/* The oldest goes first: the newest are known exactly. */
START_TEST(the_oldest_gives_way)
{
    static struct stk_catalogue whole;
    const uint64_t bucket = 7, unknown = UINT64_C(100) << 50 | bucket;
    UNIT_NEEDS_PRIVATE();
    ck_assert_int_eq(stk_home_ensure(HOME), 0);
    ck_assert_int_eq(stk_catalogue_open(&whole, HOME, true), 0);
    for (uint64_t i = 1; i <= 2 * LAST_SLOT; i++) { /* two levels, all in one bucket */
        note(&whole, i << 50 | bucket, STK_CHANGED);
    }
    ck_assert_int_eq(stk_changes_last(&whole, unknown).changed_ns, 0);
    uint64_t oldest = (uint64_t)(LAST_SLOT + 1) << 50 | bucket; /* of the second level */
    int64_t exactly = stk_changes_last(&whole, oldest).changed_ns;
    ck_assert_int_ne(exactly % STK_NS_PER_S, 0);
    note(&whole, UINT64_C(50) << 50 | bucket, STK_CHANGED);
    int64_t about = stk_changes_last(&whole, oldest).changed_ns; /* as of the bucket, in seconds */
    ck_assert_int_gt(about, exactly);
    ck_assert_int_lt(about, exactly + 2 * STK_NS_PER_S);
    ck_assert_int_eq(stk_changes_last(&whole, unknown).changed_ns, about);
    ck_assert_uint_eq(atomic_load(&whole.header->changes_levels), 1);
    stk_catalogue_close(&whole);
}
END_TEST

/* With a file the table grows, and stays exact. */
START_TEST(grows_with_what_is_written)
{
    static struct stk_catalogue whole;
    const uint64_t count = 200000;
    int64_t now = stk_clock_boottime_ns(), hour = 3600 * STK_NS_PER_S;
    UNIT_NEEDS_PRIVATE();
    ck_assert_int_eq(stk_home_ensure(HOME), 0);
    ck_assert_int_eq(stk_catalogue_open(&whole, HOME, true), 0);
    for (uint64_t ino = 1; ino <= count; ino++) {
        note(&whole, inode(1, ino), STK_WRITTEN);
    }
    uint64_t marked = 0, wrong = 0;
    for (uint64_t ino = 1; ino <= count; ino++) {
        marked += is_written(&whole, inode(1, ino), now);
        wrong += is_written(&whole, inode(2, ino), 0);
    }
    ck_assert_uint_eq(marked, count);
    ck_assert_uint_lt(wrong, count / 1000);
    ck_assert(!is_written(&whole, inode(1, 1), now + hour));
    ck_assert_uint_eq(atomic_load(&whole.header->changes_levels), STK_CHANGES_LEVELS);
    stk_catalogue_close(&whole);
}
END_TEST

/* A note that found no room, which there is later, may be anybody's. */
START_TEST(lost_notes_count_for_all_that_went_on)
{
    static struct stk_catalogue whole;
    int64_t now = stk_clock_boottime_ns();
    UNIT_NEEDS_PRIVATE();
    ck_assert_int_eq(stk_home_ensure(HOME), 0);
    ck_assert_int_eq(stk_catalogue_open(&whole, HOME, true), 0);
    char *path = whole.file.path, kept = *path;
    *path = '\0'; /* cannot be opened, so it cannot grow */
    for (uint64_t ino = 1; ino <= 40000; ino++) {
        note(&whole, inode(1, ino), STK_WRITTEN);
    }
    *path = kept;
    for (uint64_t ino = 40001; ino <= 40100; ino++) {
        note(&whole, inode(1, ino), STK_WRITTEN);
    }
    ck_assert_uint_eq(atomic_load(&whole.header->changes_levels), 1);
    for (uint64_t ino = 1; ino <= 40100; ino++) {
        ck_assert(is_written(&whole, inode(1, ino), now));
    }
    stk_catalogue_close(&whole);
}
END_TEST

/* The slot of the only one that is noted. */
static _Atomic uint64_t *only_slot(void)
{
    for (size_t i = 0; i < STK_CHANGES_BUCKETS; i++) {
        for (size_t slot = 0; slot < LAST_SLOT; slot++) {
            if (atomic_load(&header.changes[i][slot]) != 0) {
                return &header.changes[i][slot];
            }
        }
    }
    ck_abort_msg("nothing is noted");
    return NULL;
}

/* One that was slow must not put its earlier time over a later one. */
START_TEST(later_notes_stay)
{
    begin();
    note(&catalogue, inode(5, 7), STK_WRITTEN);
    atomic_fetch_add(only_slot(), 10 * STK_NS_PER_S >> 14); /* ten seconds from now */
    int64_t later = stk_clock_boottime_ns() + 5 * STK_NS_PER_S;
    note(&catalogue, inode(5, 7), STK_WRITTEN);
    ck_assert(is_written(&catalogue, inode(5, 7), later));
    ck_assert(!is_written(&catalogue, inode(5, 7), later + 10 * STK_NS_PER_S));
}
END_TEST

START_TEST(taken_back)
{
    struct stk_mark first, second;
    begin();
    stk_changes_note(&catalogue, 77, STK_WRITTEN, &first);
    stk_changes_take_back(&catalogue, &first);
    ck_assert(!is_written(&catalogue, 77, 0));
    stk_changes_note(&catalogue, 77, STK_WRITTEN, &first);
    int64_t noted = stk_changes_last(&catalogue, 77).written_ns;
    stk_changes_note(&catalogue, 77, STK_WRITTEN, &second);
    stk_changes_take_back(&catalogue, &second);
    ck_assert_int_eq(stk_changes_last(&catalogue, 77).written_ns, noted);
    /* It takes back its own note only: a later note of another process stays. */
    stk_changes_note(&catalogue, 77, STK_WRITTEN, &second);
    stk_changes_take_back(&catalogue, &first);
    ck_assert_int_gt(stk_changes_last(&catalogue, 77).written_ns, noted);
}
END_TEST

START_TEST(later_overflows_stay)
{
    begin();
    note(&catalogue, inode(5, 7), STK_WRITTEN);
    _Atomic uint64_t *bucket =
        header.changes[(only_slot() - &header.changes[0][0]) / STK_CHANGES_SLOTS];
    for (int slot = 0; slot < LAST_SLOT; slot++) {
        atomic_store(&bucket[slot], UINT64_MAX); /* of others */
    }
    int64_t later = stk_clock_boottime_ns() + 5 * STK_NS_PER_S;
    atomic_store(&bucket[LAST_SLOT], (uint64_t)(later / STK_NS_PER_S + 5) << 32);
    note(&catalogue, inode(5, 7), STK_WRITTEN);
    ck_assert(is_written(&catalogue, inode(5, 7), later));
    atomic_store(&bucket[LAST_SLOT], UINT64_C(1) << 32); /* long ago */
    note(&catalogue, inode(5, 7), STK_WRITTEN);
    ck_assert(is_written(&catalogue, inode(5, 7), later - 6 * STK_NS_PER_S));
}
END_TEST

Suite *suite_changes(void)
{
    Suite *suite = suite_create("changes");
    TCase *all = unit_case(suite, "changes_table");
    tcase_add_test(all, what_was_never_noted);
    tcase_add_test(all, each_kind_for_itself);
    tcase_add_test(all, times_are_rounded_up);
    tcase_add_test(all, none_since);
    tcase_add_test(all, later_of_two);
    tcase_add_test(all, overflow_errs_on_the_safe_side);
    tcase_add_test(all, changes_give_way);
    tcase_add_test(all, the_oldest_gives_way);
    tcase_add_test(all, grows_with_what_is_written);
    tcase_add_test(all, lost_notes_count_for_all_that_went_on);
    tcase_add_test(all, later_notes_stay);
    tcase_add_test(all, taken_back);
    tcase_add_test(all, later_overflows_stay);
    return suite;
}
