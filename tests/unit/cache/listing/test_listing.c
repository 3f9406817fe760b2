/* cache/listing/bytes.c */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "cache/catalogue/claim.h"
#include "cache/listing/listing.h"
#include "cache/origin/entry_name.h"
#include "cache/version/freshness.h"
#include "tests/unit/box.h"

static struct stk_listing listing;

static void begin(bool keeps_times)
{
    box_open();
    box.cache.roots.roots[0].kind = keeps_times ? STK_ROOT_DISK : STK_ROOT_UNKNOWN;
    ck_assert_int_eq(mkdir(box_origin("dir"), 0700), 0);
    box_write("dir/one", "1");
    box_write("dir/two", "2");
    unit_tick();
}

static struct stk_place *directory(const char *name)
{
    static char path[STK_PATH_BYTES];
    strcpy(path, box_origin(name));
    ck_assert(stk_cache_place_directory(&box.cache, path, AT_FDCWD, path, &box.place));
    return &box.place;
}

static bool find(void)
{
    return stk_listing_find(&box.cache, directory("dir"), &listing);
}

static bool fill(void)
{
    int64_t opened_ns = stk_clock_boottime_ns();
    int fd = open(box_origin("dir"), O_RDONLY | O_DIRECTORY);
    const struct stk_listing_source source = {fd, opened_ns, true};
    bool filled = stk_listing_fill(&box.cache, directory("dir"), &source, &listing);
    ck_assert_int_eq(lseek(fd, 0, SEEK_CUR) == 0, !filled);
    close(fd);
    return filled;
}

static bool has(const char *name)
{
    size_t at = 0;
    const struct stk_listing_name *found;
    while ((found = stk_listing_at(&listing, &at)) != NULL) {
        if (strcmp(found->name, name) == 0) {
            return true;
        }
    }
    return false;
}

static struct stk_record *record(void)
{
    uint32_t number = stk_catalogue_find(&box.cache.catalogue, directory("dir")->key);
    return stk_catalogue_record(&box.cache.catalogue, number);
}

START_TEST(is_kept_and_found)
{
    UNIT_NEEDS_PRIVATE();
    begin(true);
    int64_t used = box_used_blocks();
    ck_assert(!find());
    ck_assert(fill());
    ck_assert(has(".") && has("..") && has("one") && has("two") && !has("three"));
    ck_assert_int_gt(box_used_blocks(), used);
    stk_listing_close(&listing);
    ck_assert(find());
    ck_assert(has(".") && has("..") && has("one") && has("two") && !has("three"));
    ck_assert_uint_eq(listing.ino, unit_stat(box_origin("dir")).st_ino);
}
END_TEST

static int finds_in_another_process(void *unused)
{
    (void)unused;
    box_reopen();
    box.cache.roots.roots[0].kind = STK_ROOT_DISK;
    return find() && has("one") ? 0 : 1;
}

START_TEST(is_found_by_other_processes)
{
    UNIT_NEEDS_PRIVATE();
    begin(true);
    ck_assert(fill());
    ck_assert_int_eq(unit_in_child(finds_in_another_process, NULL), 0);
}
END_TEST

/* The names in a listing that a new run finds, or makes. */
static void see_in_a_new_run(bool finds, bool has_three)
{
    box_begin_run();
    ck_assert_int_eq(find(), finds);
    ck_assert(finds || fill());
    ck_assert(has("one"));
    ck_assert_int_eq(has("three"), has_three);
}

START_TEST(times_are_asked_in_a_new_run)
{
    UNIT_NEEDS_PRIVATE();
    begin(true);
    ck_assert(fill());
    see_in_a_new_run(true, false);
    int64_t used = box_used_blocks();
    box_write("dir/three", "3");
    ck_assert(find());
    ck_assert(!has("three")); /* this run has seen it */
    see_in_a_new_run(false, true);
    ck_assert_int_eq(box_used_blocks(), used); /* the old one is gone */
}
END_TEST

START_TEST(times_that_are_not_kept_are_not_asked)
{
    UNIT_NEEDS_PRIVATE();
    begin(false);
    ck_assert(fill());
    ck_assert(find());
    see_in_a_new_run(false, false);
    box.cache.options.listings = STK_LISTINGS_MTIME;
    see_in_a_new_run(true, false);
}
END_TEST

/* On a mount that does not change a directory's times, another listing gets the same name. */
START_TEST(other_names_of_the_same_times_take_the_place)
{
    UNIT_NEEDS_PRIVATE();
    char entry[STK_PATH_BYTES] = "";
    begin(false);
    ck_assert(fill());
    struct stk_record *made = record();
    ck_assert(stk_entry_path(entry, box.cache.tier.home, box.place.root, box.place.below,
                             stk_record_name(made)));
    ck_assert(unit_exists(entry));
    /* As if "two" had been called "xxx" then. */
    char bytes[4096];
    int fd = open(entry, O_RDWR);
    ssize_t got = pread(fd, bytes, sizeof bytes, 0);
    char *name = memmem(bytes, (size_t)got, "two", 3);
    memcpy(name, "xxx", 3);
    uint64_t check = stk_hash_64(bytes + 16, (size_t)got - 16, *(uint64_t *)(void *)bytes);
    memcpy(bytes + 8, &check, sizeof check);
    ck_assert_int_eq(pwrite(fd, bytes, (size_t)got, 0), got);
    close(fd);
    ck_assert(find());
    ck_assert(has("xxx") && !has("two"));
    int64_t used = box_used_blocks();
    box_begin_run();
    ck_assert(!find());
    ck_assert(fill());
    ck_assert(!has("xxx") && has("two"));
    stk_listing_close(&listing);
    ck_assert(find());
    ck_assert(!has("xxx") && has("two"));
    ck_assert_int_eq(box_used_blocks(), used);
}
END_TEST

START_TEST(changes_by_the_program_are_seen_at_once)
{
    UNIT_NEEDS_PRIVATE();
    begin(true);
    ck_assert(fill());
    box_write("dir/three", "3");
    stk_cache_distrust_listing(&box.cache, box_place("dir/three"));
    ck_assert(!find());
    ck_assert(fill());
    ck_assert(has("three"));
    const struct stat stat = unit_stat(box_origin("dir"));
    unlink(box_origin("dir/three"));
    stk_cache_distrust_inode(&box.cache, &stat);
    ck_assert(!find());
}
END_TEST

START_TEST(a_young_directory_is_not_kept)
{
    UNIT_NEEDS_PRIVATE();
    begin(true);
    box.cache.options.min_age_ns = 100 * STK_NS_PER_S;
    ck_assert(!fill());
}
END_TEST

START_TEST(a_dead_filler_is_overtaken)
{
    UNIT_NEEDS_PRIVATE();
    begin(true);
    ck_assert(fill());
    stk_listing_close(&listing);
    struct stk_claim claim = stk_claim_load(&record()->claim);
    claim.state = STK_FILLING;
    claim.pid = unit_dead_pid();
    atomic_store(&record()->claim, stk_claim_pack(claim));
    ck_assert(!find());
    ck_assert(fill());
    ck_assert(has("one"));
    ck_assert(find());
}
END_TEST

START_TEST(a_full_tier_is_not_tried_again)
{
    UNIT_NEEDS_PRIVATE();
    begin(true);
    struct stk_budget *budget = &box.cache.tier.shared->budget;
    struct statx asked;
    stk_cache_stat_origin(&box.cache, box_place("dir"), false, &asked); /* makes the record */
    stk_budget_set(budget, 0, 1000);
    ck_assert(fill()); /* read all the same */
    ck_assert(has("one"));
    ck_assert_int_eq(stk_claim_load(&record()->claim).state, STK_REFUSED);
    ck_assert(!find());
    ck_assert(!fill());
    stk_budget_set(budget, 10000, 1000);
    ck_assert(fill());
    ck_assert(find());
}
END_TEST

/* After the file system itself has reported that it is full, listings wait, too. */
START_TEST(a_file_system_that_was_full_is_left_alone)
{
    UNIT_NEEDS_PRIVATE();
    begin(true);
    atomic_store(&box.cache.tier.shared->budget.full_ns, stk_clock_boottime_ns());
    ck_assert(fill());
    ck_assert(has("one"));
    ck_assert(!find());
    atomic_store(&box.cache.tier.shared->budget.full_ns, 0);
    ck_assert(fill());
    ck_assert(find());
}
END_TEST

START_TEST(what_is_gone_or_damaged_is_dropped)
{
    UNIT_NEEDS_PRIVATE();
    char entry[STK_PATH_BYTES];
    begin(true);
    ck_assert(fill());
    int64_t used = box_used_blocks();
    ck_assert(stk_entry_path(entry, box.cache.tier.home, box.place.root, box.place.below,
                             stk_record_name(record())));
    int64_t blocks = unit_stat(entry).st_blocks;
    ck_assert_int_gt(blocks, 0);
    ck_assert_int_eq(truncate(entry, 60), 0);
    ck_assert(!find());
    ck_assert(!unit_exists(entry));
    ck_assert_int_eq(box_used_blocks(), used - blocks);
    ck_assert(fill());
    ck_assert(find());
    ck_assert_int_eq(box_used_blocks(), used);
}
END_TEST

START_TEST(places_are_spelled_in_many_ways)
{
    UNIT_NEEDS_PRIVATE();
    begin(true);
    struct stk_hash128 key = directory("dir")->key;
    ck_assert_str_eq(box.place.below, "dir/");
    static const char *const same[] = {"dir/", "dir//", "dir/.", "./dir/./", "/dir//./."};
    for (unsigned i = 0; i < sizeof same / sizeof *same; i++) {
        ck_assert_uint_eq(directory(same[i])->key.low, key.low);
        ck_assert_str_eq(box.place.below, "dir/");
    }
    static const char *const tops[] = {"", ".", "./", "/.//"};
    for (unsigned i = 0; i < sizeof tops / sizeof *tops; i++) {
        ck_assert_str_eq(directory(tops[i])->below, "");
    }
    const char *outward = box_origin("dir/..");
    ck_assert(!stk_cache_place_directory(&box.cache, outward, AT_FDCWD, outward, &box.place));
}
END_TEST

/* ---- stat ---- */

START_TEST(stat_knows_a_directory)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_identity known;
    struct statx asked;
    begin(true);
    ck_assert(!stk_cache_stat(&box.cache, box_place("dir"), false, &known));
    ck_assert_int_eq(stk_cache_stat_origin(&box.cache, box_place("dir"), false, &asked), 0);
    ck_assert(stk_cache_stat(&box.cache, box_place("dir"), false, &known));
    ck_assert(stk_cache_stat(&box.cache, box_place("dir"), true, &known));
    const struct stat stat = unit_stat(box_origin("dir"));
    ck_assert_uint_eq(known.ino, stat.st_ino);
    ck_assert_uint_eq(known.mode, stat.st_mode);
    stk_cache_distrust_listing(&box.cache, box_place("dir/three"));
    ck_assert(!stk_cache_stat(&box.cache, box_place("dir"), false, &known));
}
END_TEST

/* If times show nothing, a stat does not make an earlier run's listing valid. */
START_TEST(stat_does_not_vouch_for_a_listing)
{
    UNIT_NEEDS_PRIVATE();
    struct statx asked;
    struct stk_identity known;
    begin(false);
    ck_assert(fill());
    box_begin_run();
    ck_assert_int_eq(stk_cache_stat_origin(&box.cache, box_place("dir"), false, &asked), 0);
    ck_assert(!find());
    ck_assert(!stk_cache_stat(&box.cache, box_place("dir"), false, &known));
}
END_TEST

/* ---- names that are absent ---- */

static bool lacks(const char *name)
{
    return stk_listing_lacks(&box.cache, box_place(name));
}

START_TEST(what_is_not_listed_is_absent)
{
    UNIT_NEEDS_PRIVATE();
    struct statx asked;
    begin(true);
    ck_assert(!lacks("dir/three"));
    ck_assert(fill());
    ck_assert(!lacks("dir/three")); /* to ask costs nothing there */
    box.cache.roots.roots[0].kind = STK_ROOT_SERVER;
    ck_assert(lacks("dir/three"));
    ck_assert(stk_cache_is_absent(&box.cache, box_place("dir/three")));
    ck_assert_int_eq(stk_cache_stat_origin(&box.cache, box_place("dir/three"), false, &asked),
                     -ENOENT);
    ck_assert(!lacks("dir/one"));
    ck_assert(!lacks("dir/ONE"));       /* which may be another name of it */
    ck_assert(!lacks("dir/.snapshot")); /* which is not listed where it is */
    ck_assert(!lacks("dir/\xc3\xa9"));
    ck_assert(!lacks("three")); /* that directory was never listed */
    box.cache.options.listings = STK_LISTINGS_OFF;
    ck_assert(!lacks("dir/three"));
}
END_TEST

START_TEST(what_is_made_is_not_absent)
{
    UNIT_NEEDS_PRIVATE();
    begin(true);
    box.cache.roots.roots[0].kind = STK_ROOT_SERVER;
    ck_assert(fill());
    ck_assert(lacks("dir/three"));
    stk_cache_distrust_listing(&box.cache, box_place("dir/three"));
    ck_assert(!lacks("dir/three"));
    ck_assert(fill());
    ck_assert(lacks("dir/three"));
    box_begin_run();
    ck_assert(!lacks("dir/three"));
}
END_TEST

START_TEST(what_others_make_is_seen_within_a_second)
{
    UNIT_NEEDS_PRIVATE();
    begin(true);
    box.cache.roots.roots[0].kind = STK_ROOT_SERVER;
    ck_assert(fill());
    usleep(1050000);
    ck_assert(lacks("dir/three")); /* by a look that others need not make */
    box_write("dir/three", "3");
    usleep(1050000);
    ck_assert(!lacks("dir/three"));
    ck_assert(!lacks("dir/four"));
}
END_TEST

Suite *suite_listing(void)
{
    Suite *suite = suite_create("listing");
    TCase *kept = unit_case(suite, "kept");
    tcase_add_test(kept, is_kept_and_found);
    tcase_add_test(kept, is_found_by_other_processes);
    tcase_add_test(kept, a_dead_filler_is_overtaken);
    tcase_add_test(kept, a_full_tier_is_not_tried_again);
    tcase_add_test(kept, a_file_system_that_was_full_is_left_alone);
    tcase_add_test(kept, what_is_gone_or_damaged_is_dropped);
    tcase_add_test(kept, places_are_spelled_in_many_ways);
    TCase *versions = unit_case(suite, "versions");
    tcase_add_test(versions, times_are_asked_in_a_new_run);
    tcase_add_test(versions, times_that_are_not_kept_are_not_asked);
    tcase_add_test(versions, other_names_of_the_same_times_take_the_place);
    tcase_add_test(versions, changes_by_the_program_are_seen_at_once);
    tcase_add_test(versions, a_young_directory_is_not_kept);
    TCase *stats = unit_case(suite, "stat");
    tcase_add_test(stats, stat_knows_a_directory);
    tcase_add_test(stats, stat_does_not_vouch_for_a_listing);
    TCase *absent = unit_case(suite, "absent");
    tcase_add_test(absent, what_is_not_listed_is_absent);
    tcase_add_test(absent, what_is_made_is_not_absent);
    tcase_add_test(absent, what_others_make_is_seen_within_a_second);
    return suite;
}
