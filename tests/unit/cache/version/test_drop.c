/* cache/version/drop.c */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cache/catalogue/claim.h"
#include "cache/tier/sample_quota.h"
#include "cache/version/drop.h"
#include "tests/unit/box.h"
#include "tests/unit/cache/recount.h"

/* Returns the blocks in use after the first file has paid for the directories and the catalogue. */
static int64_t open_first(void)
{
    box_open();
    box_write("first", "x");
    ck_assert(box_open_file("first"));
    return box_used_blocks();
}

START_TEST(drops)
{
    UNIT_NEEDS_PRIVATE();
    int64_t used = open_first();
    struct stk_budget *budget = &box.cache.tier.shared->budget;
    box_write("file", "hello");
    ck_assert(box_open_file("file"));
    int64_t inodes = atomic_load(&budget->used_inodes);
    uint32_t generation = atomic_load(&budget->generation);
    int fd = open(box.entry, O_RDONLY);
    stk_drop_entry(&box.cache, box.outcome.record, box.entry);
    ck_assert(!unit_exists(box.entry));
    char text[8];
    ck_assert_int_eq(read(fd, text, sizeof text), 5); /* a process that holds it keeps reading */
    ck_assert_int_eq(box_used_blocks(), used);
    ck_assert_int_eq(atomic_load(&budget->used_inodes), inodes - 1);
    ck_assert_uint_ne(atomic_load(&budget->generation), generation);
    const struct stk_record *record = box_record("file");
    ck_assert_int_eq(stk_claim_load(&record->claim).state, STK_ABSENT);
    ck_assert_uint_eq(atomic_load(&record->entry_ino), 0);
    /* A second time there is nothing to give back. */
    stk_drop_entry(&box.cache, box.outcome.record, box.entry);
    ck_assert_int_eq(box_used_blocks(), used);
    stk_drop_entry(&box.cache, 0, box.entry);
    stk_drop_version(&box.cache, box_place("file"), 0);
}
END_TEST

/* A transient entry is gone, and its blocks have still to be given back. */
START_TEST(drops_what_passes)
{
    UNIT_NEEDS_PRIVATE();
    int64_t used = open_first();
    box_write("file", "hello");
    ck_assert(box_open_file("file"));
    int64_t blocks = stk_drop_transient(&box.cache.catalogue, box.outcome.record, box.entry);
    ck_assert(!unit_exists(box.entry));
    ck_assert_int_gt(blocks, 0);
    ck_assert_int_eq(box_used_blocks(), used + blocks);
    ck_assert_int_eq(stk_drop_transient(&box.cache.catalogue, box.outcome.record, box.entry), 0);
    ck_assert(box_open_file("file"));
    ck_assert_int_eq(box_used_blocks(), used + 2 * blocks);
}
END_TEST

/* The blocks that the file system really took are given back. */
START_TEST(gives_back_the_excess)
{
    UNIT_NEEDS_PRIVATE();
    static char data[3 * 4096];
    int64_t used = open_first();
    box_write("file", "hello");
    ck_assert(box_open_file("file"));
    /* As if the file had been made with huge pages. */
    ck_assert_int_eq(chmod(box.entry, 0600), 0);
    int fd = open(box.entry, O_RDWR);
    ck_assert_int_eq(write(fd, data, sizeof data), sizeof data);
    ck_assert(stk_budget_reserve(&box.cache.tier.shared->budget, 2 * 8, 0));
    close(fd);
    stk_drop_version(&box.cache, box_place("file"), box.outcome.record);
    ck_assert(!unit_exists(box.entry));
    ck_assert_int_eq(box_used_blocks(), used);
}
END_TEST

/* The process that unlinks an entry gives back its blocks, and no second process does. If no
 * process has given them back, counting finds it. */
START_TEST(gives_back_what_it_unlinked)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("first", "x");
    ck_assert(box_open_file("first"));
    ck_assert_int_eq(unit_recount(&box.cache.tier), 0);
    int64_t used = box_used_blocks();
    box_write("file", "hello");
    ck_assert(box_open_file("file"));
    ck_assert_int_eq(unlink(box.entry), 0);
    stk_drop_entry(&box.cache, box.outcome.record, box.entry);
    ck_assert_int_eq(box_used_blocks(), used + 8);
    ck_assert_int_eq(unit_recount(&box.cache.tier), 0);
    ck_assert_int_eq(box_used_blocks(), used);
}
END_TEST

START_TEST(not_while_it_is_filled)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("file", "hello");
    ck_assert(box_open_file("file"));
    struct stk_record *record = box_record("file");
    int64_t used = box_used_blocks();
    ck_assert(stk_claim_take(&record->claim, stk_claim_load(&record->claim)));
    stk_drop_version(&box.cache, box_place("file"), box.outcome.record);
    ck_assert(unit_exists(box.entry));
    ck_assert_int_eq(box_used_blocks(), used);
    ck_assert_int_eq(stk_claim_load(&record->claim).state, STK_FILLING);
}
END_TEST

/* The entry's blocks become the store's in one step: no other process gets them, and the budget
 * holds. */
START_TEST(gives_way_to_samples)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("file", "hello");
    ck_assert(box_open_file("file"));
    struct stk_tier *tier = &box.cache.tier;
    struct stk_sample_quota *quota = stk_sample_quota_find(tier);
    uint32_t record = box.outcome.record,
             generation = atomic_load(&tier->shared->budget.generation);
    int64_t used = box_used_blocks(), inodes = atomic_load(&tier->shared->budget.used_inodes);
    ck_assert(!stk_drop_is_wanted(&box.cache, record));
    ck_assert(!stk_drop_for_samples(&box.cache, record, box.entry));
    ck_assert(unit_exists(box.entry));
    stk_sample_quota_want(quota, 1);
    ck_assert(stk_drop_is_wanted(&box.cache, record));
    ck_assert(stk_drop_for_samples(&box.cache, record, box.entry));
    ck_assert(!unit_exists(box.entry));
    ck_assert_int_eq(box_used_blocks(), used);
    ck_assert_int_eq(atomic_load(&quota->blocks), 8);
    ck_assert_int_le(atomic_load(&quota->wanted_blocks), 0);
    ck_assert_int_eq(atomic_load(&tier->shared->budget.used_inodes), inodes - 1);
    ck_assert_uint_eq(atomic_load(&tier->shared->budget.generation), generation);
    ck_assert_int_eq(stk_claim_load(&box_record("file")->claim).state, STK_ABSENT);
    ck_assert_uint_eq(box_counts().given_up, 1);
    ck_assert_uint_eq(box_counts().given_up_bytes, 5);
    /* It has enough now. */
    ck_assert(box_open_file("file"));
    ck_assert(!stk_drop_is_wanted(&box.cache, record));
}
END_TEST

/* A disk's entries outlive the store. */
START_TEST(gives_way_in_memory_only)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("file", "hello");
    ck_assert(box_open_file("file"));
    stk_sample_quota_want(stk_sample_quota_find(&box.cache.tier), 1);
    box.cache.tier.shared->memory = 0;
    ck_assert(!stk_drop_is_wanted(&box.cache, box.outcome.record));
    ck_assert(!stk_drop_for_samples(&box.cache, box.outcome.record, box.entry));
    ck_assert(unit_exists(box.entry));
}
END_TEST

Suite *suite_drop(void)
{
    Suite *suite = suite_create("drop");
    TCase *all = unit_case(suite, "drop_entries");
    tcase_add_test(all, drops);
    tcase_add_test(all, drops_what_passes);
    tcase_add_test(all, gives_back_the_excess);
    tcase_add_test(all, gives_back_what_it_unlinked);
    tcase_add_test(all, not_while_it_is_filled);
    tcase_add_test(all, gives_way_to_samples);
    tcase_add_test(all, gives_way_in_memory_only);
    return suite;
}
