/* cache/file/lookup.c, through cache/cache.h */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sys.h"
#include "cache/catalogue/claim.h"
#include "tests/unit/box.h"

START_TEST(places)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    static const struct {
        const char *behind, *below; /* NULL: not covered */
    } rows[] = {
        {"/file", "file"}, {"//./a//b", "a/b"}, {"", NULL},    {"/", NULL},
        {"/a/../b", NULL}, {"/a/", NULL},       {"2/a", NULL}, {"/.hidden", ".hidden"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[STK_PATH_BYTES];
        snprintf(path, sizeof path, "%s%s", unit_path("origin"), rows[i].behind);
        bool covered = stk_cache_place(&box.cache, path, AT_FDCWD, path, &box.place);
        ck_assert_msg(covered == (rows[i].below != NULL), "%s", path);
        if (covered) {
            ck_assert_str_eq(box.place.below, rows[i].below);
        }
    }
    struct stk_hash128 key = box_place("a/b")->key;
    ck_assert_mem_eq(&box_place(".//a/./b")->key, &key, sizeof key);
    ck_assert_mem_ne(&box_place("a/c")->key, &key, sizeof key);
    box.cache.roots.roots[0].usable = false;
    ck_assert(!stk_cache_place(&box.cache, box_origin("x"), AT_FDCWD, "x", &box.place));
}
END_TEST

/* ---- stat ---- */

static bool knows(const char *name, bool nofollow)
{
    struct stk_identity identity;
    struct stat got, wanted;
    if (!stk_cache_stat(&box.cache, box_place(name), nofollow, &identity)) {
        return false;
    }
    memset(&wanted, 0, sizeof wanted);
    ck_assert_int_eq(stat(box_origin(name), &wanted), 0);
    stk_identity_to_stat(&identity, &got);
    got.st_atim = wanted.st_atim;
    ck_assert_mem_eq(&got, &wanted, sizeof got);
    return true;
}

START_TEST(learns_and_knows)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("file", "hello");
    ck_assert(!knows("file", false));
    box_learn("file");
    ck_assert(knows("file", false));
    ck_assert(knows("file", true));
    ck_assert(!stk_cache_is_readable(&box.cache, box_place("file")));
    ck_assert(box_open_file("file"));
    ck_assert(stk_cache_is_readable(&box.cache, box_place("file")));
    struct stk_run_counts counts = box_counts();
    ck_assert_uint_eq(counts.stats_served, 2);
    box_begin_run();
    ck_assert(!knows("file", false));
    ck_assert(!stk_cache_is_readable(&box.cache, box_place("file")));
}
END_TEST

START_TEST(a_fill_is_enough_to_know)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("file", "hello");
    ck_assert(box_open_file("file"));
    ck_assert(knows("file", false));
    ck_assert(!knows("file", true)); /* the path may end in a link, for all that was seen */
    box_learn("file");
    ck_assert(knows("file", true));
    ck_assert_int_eq(box_ask("file"), STK_ANSWER_HIT);
    ck_assert(box.ask.plain_leaf);
}
END_TEST

START_TEST(links)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("file", "hello");
    ck_assert_int_eq(symlink("file", box_origin("link")), 0);
    box_learn("link");
    ck_assert(knows("link", false));
    ck_assert(!knows("link", true));
    ck_assert(box_open_file("link"));
    ck_assert(unit_has_text(box.entry, "hello"));
    ck_assert_int_eq(box_ask("link"), STK_ANSWER_HIT);
    ck_assert(!box.ask.plain_leaf);
}
END_TEST

START_TEST(what_is_not_learned)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_learn("none");
    ck_assert_ptr_null(box_record("none"));
    ck_assert_int_eq(mkdir(box_origin("directory"), 0755), 0);
    box_learn("directory");
    ck_assert_ptr_null(box_record("directory"));
    ck_assert_int_eq(symlink("none", box_origin("dangling")), 0);
    box_learn("dangling");
    ck_assert_ptr_null(box_record("dangling"));
    box.cache.options.min_age_ns = INT64_C(60000000000);
    box_write("young", "hello");
    box_learn("young");
    ck_assert(!knows("young", false));
}
END_TEST

START_TEST(fresh_open_and_never)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("file", "hello");
    ck_assert(box_open_file("file"));
    box.cache.options.fresh = STK_FRESH_OPEN;
    ck_assert(!knows("file", false));
    uint64_t asked = box_counts().stats_asked;
    ck_assert_int_eq(box_ask("file"), STK_ANSWER_HIT);
    ck_assert_int_eq(box_ask("file"), STK_ANSWER_HIT);
    ck_assert_uint_eq(box_counts().stats_asked, asked + 2);
    box_write("file", "other");
    ck_assert(box_open_file("file"));
    ck_assert(unit_has_text(box.entry, "other"));
    box.cache.options.fresh = STK_FRESH_NEVER;
    box_write("file", "third");
    box_begin_run();
    ck_assert_int_eq(box_ask("file"), STK_ANSWER_HIT);
    ck_assert(unit_has_text(box.ask.entry, "other"));
}
END_TEST

/* ---- from entries back ---- */

START_TEST(stat_of_an_entry)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_identity identity;
    box_open();
    box_write("file", "hello");
    ck_assert(box_open_file("file"));
    uint32_t record = box.outcome.record;
    uint64_t ino = unit_stat(box.entry).st_ino;
    ck_assert(stk_cache_stat_entry(&box.cache, record, ino, &identity));
    ck_assert_uint_eq(identity.ino, unit_stat(box_origin("file")).st_ino);
    ck_assert(!stk_cache_stat_entry(&box.cache, record, ino + 1, &identity));
    ck_assert(!stk_cache_stat_entry(&box.cache, 0, ino, &identity));
    ck_assert(!stk_cache_stat_entry(&box.cache, record + 1, 0, &identity));
    stk_cache_distrust(&box.cache, box_place("file"));
    ck_assert(!stk_cache_stat_entry(&box.cache, record, ino, &identity));
}
END_TEST

START_TEST(origin_of_an_entry)
{
    UNIT_NEEDS_PRIVATE();
    char origin[STK_PATH_BYTES], first[STK_PATH_BYTES];
    uint32_t record;
    box_open();
    ck_assert_int_eq(mkdir(box_origin("a"), 0755), 0);
    box_write("a/file", "hello");
    ck_assert(box_open_file("a/file"));
    uint32_t older = box.outcome.record;
    strcpy(first, box.entry);
    ck_assert(stk_cache_find_entry(&box.cache, first, origin, &record));
    ck_assert_str_eq(origin, box_origin("a/file"));
    ck_assert_uint_eq(record, older);
    box_write("a/file", "other");
    box_begin_run();
    ck_assert(box_open_file("a/file"));
    ck_assert_uint_ne(box.outcome.record, older);
    ck_assert(stk_cache_find_entry(&box.cache, first, origin, &record));
    ck_assert_uint_eq(record, older);
    ck_assert(stk_cache_find_entry(&box.cache, box.entry, origin, &record));
    ck_assert_uint_eq(record, box.outcome.record);
    ck_assert(!stk_cache_find_entry(&box.cache, box_origin("a/file"), origin, &record));
    /* A version that the catalogue does not know. */
    char *digit = strrchr(box.entry, '/') + 1;
    *digit = *digit == '0' ? '1' : '0';
    ck_assert(stk_cache_find_entry(&box.cache, box.entry, origin, &record));
    ck_assert_uint_eq(record, 0);
}
END_TEST

static enum stk_likeness compare(const char *entry, const char *name)
{
    struct statx answer;
    struct stk_identity found;
    ck_assert_int_eq(
        stk_sys_statx(AT_FDCWD, box_origin(name), 0, STATX_BASIC_STATS | STATX_BTIME, &answer), 0);
    ck_assert(stk_identity_from_statx(&found, &answer));
    return stk_cache_compare_entry(&box.cache, entry, &found);
}

/* Nothing is kept of what lies in memory: the box's origin does, and says so nowhere else. */
START_TEST(origins_in_memory)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("file", "hello");
    ck_assert_int_eq(box_ask("file"), STK_ANSWER_FILL);
    box.cache.roots.roots[0].kind = STK_ROOT_MEMORY;
    ck_assert_int_eq(box_ask("file"), STK_ANSWER_ORIGIN);
    ck_assert_int_eq(box.ask.why, STK_BYPASS_ORIGIN);
    ck_assert(!box_fill("file"));
    ck_assert_int_eq(box.outcome.why, STK_BYPASS_ORIGIN);
}
END_TEST

START_TEST(origin_or_another_file)
{
    UNIT_NEEDS_PRIVATE();
    char first[STK_PATH_BYTES];
    box_open();
    box_write("file", "hello");
    box_write("other", "hello");
    ck_assert(box_open_file("file"));
    strcpy(first, box.entry);
    ck_assert_int_eq(compare(first, "file"), STK_SAME_VERSION);
    ck_assert_int_eq(compare(first, "other"), STK_ANOTHER_FILE);
    ck_assert_int_eq(chmod(box_origin("file"), 0600), 0);
    ck_assert_int_eq(compare(first, "file"), STK_SAME_FILE);
    /* A version that the catalogue does not know says nothing about other versions of the file. */
    char *digit = strrchr(first, '/') + 1;
    *digit = *digit == '0' ? '1' : '0';
    ck_assert_int_eq(compare(first, "file"), STK_ANOTHER_FILE);
    ck_assert_int_eq(compare(box_origin("file"), "file"), STK_ANOTHER_FILE);
    box_replace("file", "hello");
    ck_assert_int_eq(compare(box.entry, "file"), STK_ANOTHER_FILE);
}
END_TEST

/* A file behind a link that leads to another volume has that volume in its version's name. */
START_TEST(origin_on_another_volume)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("file", "hello");
    box.cache.roots.roots[0].dev++;
    ck_assert(box_open_file("file"));
    ck_assert_int_eq(compare(box.entry, "file"), STK_SAME_VERSION);
    ck_assert_int_eq(chmod(box_origin("file"), 0600), 0);
    ck_assert_int_eq(compare(box.entry, "file"), STK_SAME_FILE);
}
END_TEST

Suite *suite_lookup(void)
{
    Suite *suite = suite_create("lookup");
    tcase_add_test(unit_case(suite, "ask_place"), places);
    TCase *stat = unit_case(suite, "ask_stat");
    tcase_add_test(stat, learns_and_knows);
    tcase_add_test(stat, a_fill_is_enough_to_know);
    tcase_add_test(stat, links);
    tcase_add_test(stat, what_is_not_learned);
    tcase_add_test(stat, fresh_open_and_never);
    TCase *entry = unit_case(suite, "ask_entry");
    tcase_add_test(entry, stat_of_an_entry);
    tcase_add_test(entry, origin_of_an_entry);
    tcase_add_test(entry, origins_in_memory);
    tcase_add_test(entry, origin_or_another_file);
    tcase_add_test(entry, origin_on_another_volume);
    return suite;
}
