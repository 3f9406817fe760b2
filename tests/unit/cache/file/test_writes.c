/* cache/file/writes.c, through cache/cache.h */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/unit/box.h"

static void begin_later_run(void)
{
    usleep(50000);
    box.cache.run_start_ns = stk_clock_boottime_ns();
}

static void assert_written(const char *name)
{
    struct stk_identity identity;
    ck_assert_int_eq(box_ask(name), STK_ANSWER_ORIGIN);
    ck_assert_int_eq(box.ask.why, STK_BYPASS_WRITTEN);
    ck_assert(!stk_cache_stat(&box.cache, box_place(name), false, &identity));
    ck_assert(!stk_cache_is_readable(&box.cache, box_place(name)));
}

START_TEST(written_by_path)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_mark mark;
    box_open();
    box_write("file", "hello");
    ck_assert(box_open_file("file"));
    stk_cache_mark_written(&box.cache, box_place("file"), &mark);
    assert_written("file");
    ck_assert(!box_fill("file"));
    ck_assert_int_eq(box.outcome.why, STK_BYPASS_WRITTEN);
    begin_later_run();
    ck_assert_int_ne(box_ask("file"), STK_ANSWER_ORIGIN);
}
END_TEST

START_TEST(taken_back)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_mark mark;
    box_open();
    box_write("file", "hello");
    ck_assert(box_open_file("file"));
    stk_cache_mark_written(&box.cache, box_place("file"), &mark);
    stk_cache_unmark_written(&box.cache, &mark);
    ck_assert_int_eq(box_ask("file"), STK_ANSWER_HIT);
    /* Only one's own mark goes: that of another process stays. */
    ck_assert(stk_cache_mark_written(&box.cache, box_place("file"), &mark));
    struct stk_mark second;
    ck_assert(!stk_cache_mark_written(&box.cache, box_place("file"), &second));
    stk_cache_unmark_written(&box.cache, &second);
    assert_written("file");
}
END_TEST

/* A process of an earlier run may still write it unseen. So each open asks the origin. */
START_TEST(written_in_an_earlier_run)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_mark mark;
    struct stk_identity identity;
    box_open();
    box_write("file", "hello");
    stk_cache_mark_written(&box.cache, box_place("file"), &mark);
    begin_later_run();
    ck_assert(box_open_file("file"));
    for (int i = 0; i < 3; i++) {
        uint64_t asked = box_counts().stats_asked;
        ck_assert_int_eq(box_ask("file"), STK_ANSWER_HIT);
        ck_assert_uint_eq(box_counts().stats_asked, asked + 1);
        ck_assert(!stk_cache_stat(&box.cache, box_place("file"), false, &identity));
    }
    box.cache.options.fresh = STK_FRESH_NEVER;
    uint64_t asked = box_counts().stats_asked;
    ck_assert_int_eq(box_ask("file"), STK_ANSWER_HIT);
    ck_assert_uint_eq(box_counts().stats_asked, asked);
}
END_TEST

START_TEST(before_it_is_known)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_mark mark;
    box_open();
    stk_cache_mark_written(&box.cache, box_place("new"), &mark);
    box_write("new", "hello");
    assert_written("new");
    ck_assert(!box_fill("new"));
    ck_assert_int_eq(box.outcome.why, STK_BYPASS_WRITTEN);
    assert_written("new");
    begin_later_run();
    ck_assert_int_eq(box_ask("new"), STK_ANSWER_FILL);
}
END_TEST

START_TEST(goes_over_to_new_versions)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_mark mark;
    box_open();
    box_write("file", "hello");
    ck_assert(box_open_file("file"));
    stk_cache_mark_written(&box.cache, box_place("file"), &mark);
    box_write("file", "other");
    box_learn("file");
    assert_written("file");
    box_replace("file", "third");
    box_learn("file");
    assert_written("file");
}
END_TEST

START_TEST(written_by_inode)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("file", "hello");
    ck_assert_int_eq(link(box_origin("file"), box_origin("other")), 0);
    unit_tick();
    ck_assert(box_open_file("file"));
    ck_assert(box_open_file("other"));
    struct stat stat = unit_stat(box_origin("file"));
    stk_cache_mark_inode(&box.cache, &stat);
    assert_written("file");
    assert_written("other");
    ck_assert_int_eq(link(box_origin("file"), box_origin("unknown")), 0);
    ck_assert(!box_open_file("unknown"));
    ck_assert_int_eq(box.outcome.why, STK_BYPASS_WRITTEN);
    begin_later_run();
    ck_assert_int_ne(box_ask("other"), STK_ANSWER_ORIGIN);
}
END_TEST

START_TEST(only_regular_files_have_inode_marks)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("file", "hello");
    ck_assert(box_open_file("file"));
    struct stat stat = unit_stat(box_origin("file"));
    stat.st_mode = S_IFIFO | 0600;
    stk_cache_mark_inode(&box.cache, &stat);
    ck_assert_int_eq(box_ask("file"), STK_ANSWER_HIT);
}
END_TEST

/* ---- distrust ---- */

START_TEST(distrusted)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_identity identity;
    box_open();
    box_write("file", "first");
    ck_assert(box_open_file("file"));
    stk_cache_distrust(&box.cache, box_place("file"));
    ck_assert(!stk_cache_stat(&box.cache, box_place("file"), false, &identity));
    uint64_t asked = box_counts().stats_asked;
    ck_assert_int_eq(box_ask("file"), STK_ANSWER_HIT);
    ck_assert_uint_eq(box_counts().stats_asked, asked + 1);
    ck_assert(stk_cache_stat(&box.cache, box_place("file"), false, &identity));
    box_replace("file", "other");
    stk_cache_distrust(&box.cache, box_place("file"));
    ck_assert(box_open_file("file"));
    ck_assert(unit_has_text(box.entry, "other"));
    stk_cache_distrust(&box.cache, box_place("never-seen"));
    ck_assert_ptr_null(box_record("never-seen"));
}
END_TEST

START_TEST(distrusted_root)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_identity identity;
    box_open();
    ck_assert_int_eq(mkdir(box_origin("a"), 0755), 0);
    ck_assert_int_eq(mkdir(box_origin("b"), 0755), 0);
    box_write("a/file", "in a.");
    box_write("b/file", "in b.");
    ck_assert(box_open_file("a/file"));
    ck_assert(box_open_file("b/file"));
    ck_assert_int_eq(rename(box_origin("a"), box_origin("c")), 0);
    ck_assert_int_eq(rename(box_origin("b"), box_origin("a")), 0);
    stk_cache_distrust_all(&box.cache);
    ck_assert(!stk_cache_stat(&box.cache, box_place("a/file"), false, &identity));
    ck_assert(box_open_file("a/file"));
    ck_assert(unit_has_text(box.entry, "in b."));
    ck_assert_int_eq(box_ask("a/file"), STK_ANSWER_HIT);
    ck_assert_int_eq(box.ask.began_ns, 0);
}
END_TEST

Suite *suite_writes(void)
{
    Suite *suite = suite_create("writes");
    TCase *written = unit_case(suite, "marks_written");
    tcase_add_test(written, written_by_path);
    tcase_add_test(written, taken_back);
    tcase_add_test(written, written_in_an_earlier_run);
    tcase_add_test(written, before_it_is_known);
    tcase_add_test(written, goes_over_to_new_versions);
    tcase_add_test(written, written_by_inode);
    tcase_add_test(written, only_regular_files_have_inode_marks);
    TCase *distrust = unit_case(suite, "marks_distrust");
    tcase_add_test(distrust, distrusted);
    tcase_add_test(distrust, distrusted_root);
    return suite;
}
