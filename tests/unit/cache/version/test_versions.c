/* cache/version/versions.c */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cache/catalogue/claim.h"
#include "cache/version/versions.h"
#include "tests/unit/box.h"

static struct stk_identity sample(void)
{
    return (struct stk_identity){.dev = box.cache.roots.roots[0].dev,
                                 .ino = 5,
                                 .size = 6,
                                 .blocks = 8,
                                 .mode = S_IFREG | 0644,
                                 .nlink = 1,
                                 .mtime_ns = 7,
                                 .ctime_ns = 8,
                                 .btime_ns = STK_NO_TIME};
}

START_TEST(one_record_for_one_identity)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    struct stk_identity identity = sample(), known;
    uint32_t number = stk_versions_remember(&box.cache, box_place("file"), &identity);
    ck_assert_uint_ne(number, 0);
    struct stk_record *record = stk_catalogue_record(&box.cache.catalogue, number);
    ck_assert_ptr_eq(record, box_record("file"));
    struct stk_claim claim = stk_claim_load(&record->claim);
    ck_assert_int_eq(claim.state, STK_ABSENT);
    ck_assert_int_eq(atomic_load(&record->validated_ns), 0);
    ck_assert_uint_eq(stk_record_name(record), stk_identity_name(&identity, true, 0));
    stk_record_get_identity(record, &known);
    unit_assert_same(&known, &identity);
    identity.atime_ns++;
    ck_assert_uint_eq(stk_versions_remember(&box.cache, box_place("file"), &identity), number);
    ck_assert_uint_ne(stk_versions_remember(&box.cache, box_place("other"), &identity), number);
}
END_TEST

START_TEST(new_versions_point_to_old_ones)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    struct stk_identity identity = sample();
    uint32_t first = stk_versions_remember(&box.cache, box_place("file"), &identity);
    identity.mtime_ns++;
    uint32_t second = stk_versions_remember(&box.cache, box_place("file"), &identity);
    ck_assert_uint_ne(second, first);
    ck_assert_uint_eq(box_record("file")->previous, first);
    identity.mtime_ns--;
    uint32_t third = stk_versions_remember(&box.cache, box_place("file"), &identity);
    ck_assert_uint_ne(third, first);
    ck_assert_uint_eq(box_record("file")->previous, second);
}
END_TEST

/* Counts an open of the file, and returns how many there were in the run. */
static unsigned count_open(const char *name)
{
    uint32_t number = stk_catalogue_find(&box.cache.catalogue, box_place(name)->key);
    return stk_run_count_open(&box.cache.run, &(struct stk_run_open_counts){.record = number});
}

/* The blocks of a file that was just written are counted late by some file systems: that is no new
 * version, and its entry stays. */
START_TEST(the_same_version_keeps_its_entry)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("file", "hello");
    ck_assert(box_open_file("file"));
    char entry[STK_PATH_BYTES];
    strcpy(entry, box.entry);
    count_open("file");
    int64_t used = box_used_blocks();
    struct stk_identity identity;
    stk_record_get_identity(box_record("file"), &identity);
    identity.blocks += 8;
    ck_assert_uint_ne(stk_versions_remember(&box.cache, box_place("file"), &identity), 0);
    ck_assert(unit_exists(entry));
    ck_assert_int_eq(box_used_blocks(), used);
    ck_assert(box_open_file("file"));
    ck_assert_str_eq(box.entry, entry);
    ck_assert_int_eq(box_used_blocks(), used);
    ck_assert_uint_eq(count_open("file"), 1); /* the second of one file, and not the first of two */
    box_write("file", "other");
    box_begin_run();
    ck_assert(box_open_file("file"));
    ck_assert(!unit_exists(entry));
    ck_assert_int_eq(box_used_blocks(), used);
}
END_TEST

/* The mount gives the file another number at each new look. That is no version, and no further
 * record, but stat returns it. */
START_TEST(inode_numbers_that_are_made_up)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box.cache.roots.roots[0].inode_counts = false;
    struct stk_identity identity = sample(), known;
    uint32_t number = stk_versions_remember(&box.cache, box_place("file"), &identity);
    ck_assert_uint_ne(number, 0);
    for (identity.ino = 1000; identity.ino < 1100; identity.ino++) {
        ck_assert_uint_eq(stk_versions_remember(&box.cache, box_place("file"), &identity), number);
        ck_assert(stk_record_get_identity(box_record("file"), &known));
        unit_assert_same(&known, &identity);
    }
    identity.mtime_ns++;
    ck_assert_uint_ne(stk_versions_remember(&box.cache, box_place("file"), &identity), number);
}
END_TEST

START_TEST(no_room)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_identity identity;
    box_open();
    box_write("file", "hello");
    stk_budget_set(&box.cache.tier.shared->budget, 0, 0); /* pays for the catalogue, too */
    identity = sample();
    ck_assert_uint_eq(stk_versions_remember(&box.cache, box_place("file"), &identity), 0);
    ck_assert(!box_open_file("file"));
    ck_assert_int_eq(box.outcome.why, STK_BYPASS_CATALOGUE);
}
END_TEST

/* A file that the index has no room for takes no record, however often it is opened. */
START_TEST(no_room_in_the_index)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("file", "hello");
    box_write("other", "hello");
    ck_assert(box_open_file("other"));
    struct stk_area_count *areas = box.cache.catalogue.header->areas.counts;
    stk_budget_set(&box.cache.tier.shared->budget, 0, 0);
    uint32_t segments = atomic_load(&areas[STK_AREA_NODES].segments);
    atomic_store(&areas[STK_AREA_NODES].next, segments * STK_SEGMENT_NODES);
    uint32_t records = atomic_load(&areas[STK_AREA_RECORDS].next);
    for (int i = 0; i < 3; i++) {
        ck_assert(!box_open_file("file"));
        ck_assert_int_eq(box.outcome.why, STK_BYPASS_CATALOGUE);
    }
    ck_assert_uint_eq(atomic_load(&areas[STK_AREA_RECORDS].next), records);
}
END_TEST

Suite *suite_versions(void)
{
    Suite *suite = suite_create("versions");
    TCase *all = unit_case(suite, "remember_versions");
    tcase_add_test(all, one_record_for_one_identity);
    tcase_add_test(all, new_versions_point_to_old_ones);
    tcase_add_test(all, the_same_version_keeps_its_entry);
    tcase_add_test(all, inode_numbers_that_are_made_up);
    tcase_add_test(all, no_room);
    tcase_add_test(all, no_room_in_the_index);
    return suite;
}
