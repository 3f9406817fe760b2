/* cache/run/run.c */
#include "tests/unit/unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cache/run/run.h"

static struct stk_run run;

/* Counts an open that found nothing; its epoch. */
static unsigned open_file(struct stk_run *in, uint32_t record)
{
    return stk_run_count_open(
        in, &(struct stk_run_open_counts){.record = record, .kind = STK_COUNT_OPENS});
}

static const char *new_home(void)
{
    const char *home = unit_directory("home");
    unit_directory("home/runs");
    ck_assert_int_eq(chmod(home, 0700), 0);
    return home;
}

START_TEST(creates_and_opens)
{
    static struct stk_run again;
    const char *home = new_home();
    char path[STK_HOME_BYTES];
    int64_t before = stk_clock_boottime_ns();
    ck_assert_int_eq(stk_run_create(&run, home, "one"), 0);
    ck_assert_int_ge(stk_run_start_ns(&run), before);
    ck_assert_int_le(stk_run_start_ns(&run), stk_clock_boottime_ns());
    ck_assert(stk_run_path(path, home, "one"));
    ck_assert_uint_eq(unit_stat(path).st_mode, S_IFREG | 0600);
    ck_assert_int_eq(stk_run_open(&again, path), 0);
    ck_assert_int_eq(stk_run_start_ns(&again), stk_run_start_ns(&run));
    ck_assert_int_eq(stk_run_create(&again, home, "one"), -EEXIST);
    ck_assert_int_eq(stk_run_create(&again, unit_path("none"), "one"), -ENOENT);
}
END_TEST

/* The run lives as long as the file is mapped, by whichever process, and by those that have joined
 * it alone. */
START_TEST(lives_while_it_is_joined)
{
    static struct stk_run again;
    int status;
    const char *path = unit_path("home/runs/one");
    ck_assert(!stk_run_is_joined(path));
    ck_assert_int_eq(stk_run_create(&run, new_home(), "one"), 0);
    ck_assert(!stk_run_is_joined(path));
    ck_assert_int_eq(stk_run_join(&again, path), 0);
    ck_assert(stk_run_is_joined(path));
    pid_t child = fork();
    if (child == 0) {
        raise(SIGSTOP); /* it has the map of its parent */
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
    stk_run_close(&again);
    ck_assert(stk_run_is_joined(path));
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(!stk_run_is_joined(path));
}
END_TEST

START_TEST(refuses_other_files)
{
    const char *home = new_home();
    const char *path = unit_path("home/runs/one");
    ck_assert_int_eq(stk_run_open(&run, path), -ENOENT);
    unit_write_text(path, "text");
    ck_assert_int_eq(chmod(path, 0600), 0);
    ck_assert_int_eq(stk_run_open(&run, path), -EPROTO);
    ck_assert_int_eq(truncate(path, 1 << 20), 0);
    ck_assert_int_eq(stk_run_open(&run, path), -EPROTO);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(stk_run_create(&run, home, "one"), 0);
    run.file = NULL;
    ck_assert_int_eq(chmod(path, 0644), 0);
    ck_assert_int_eq(stk_run_open(&run, path), -EPERM);
    ck_assert_int_eq(chmod(path, 0600), 0);
    ck_assert_int_eq(symlink("one", unit_path("home/runs/link")), 0);
    ck_assert_int_eq(stk_run_open(&run, unit_path("home/runs/link")), -ELOOP);
    ck_assert_ptr_null(run.file);
}
END_TEST

/* The n-th open of a file belongs to epoch n. */
START_TEST(epochs)
{
    struct stk_run_counts counts;
    ck_assert_int_eq(stk_run_create(&run, new_home(), "one"), 0);
    for (unsigned epoch = 0; epoch < 3; epoch++) {
        for (uint32_t record = 1; record <= 70000; record += 7) {
            ck_assert_uint_eq(open_file(&run, record), epoch);
        }
    }
    ck_assert_uint_eq(open_file(&run, 2), 0);
    stk_run_read(&run, &counts);
    ck_assert_uint_eq(counts.epochs[0][STK_COUNT_OPENS], 10001);
    ck_assert_uint_eq(counts.epochs[1][STK_COUNT_OPENS], 10000);
    ck_assert_uint_eq(counts.epochs[2][STK_COUNT_OPENS], 10000);
    ck_assert_uint_eq(counts.epochs[3][STK_COUNT_OPENS], 0);
}
END_TEST

START_TEST(many_epochs_end_in_the_last)
{
    struct stk_run_counts counts;
    ck_assert_int_eq(stk_run_create(&run, new_home(), "one"), 0);
    for (unsigned i = 0; i < 1000; i++) {
        unsigned wanted = i < STK_RUN_EPOCHS ? i : STK_RUN_EPOCHS - 1;
        ck_assert_uint_eq(open_file(&run, 5), wanted);
    }
    stk_run_read(&run, &counts);
    ck_assert_uint_eq(counts.epochs[STK_RUN_EPOCHS - 1][STK_COUNT_OPENS], 1001 - STK_RUN_EPOCHS);
}
END_TEST

START_TEST(unknown_files_and_far_records)
{
    ck_assert_int_eq(stk_run_create(&run, new_home(), "one"), 0);
    ck_assert_uint_eq(open_file(&run, 0), 0);
    ck_assert_uint_eq(open_file(&run, 0), 0);
    ck_assert_uint_eq(open_file(&run, UINT32_MAX), 0);
    ck_assert_uint_eq(open_file(&run, STK_RUN_SEGMENTS * STK_RUN_SEGMENT_FILES), 0);
    ck_assert_uint_eq(open_file(&run, STK_RUN_SEGMENTS * STK_RUN_SEGMENT_FILES), 1);
}
END_TEST

/* Counts a file as read unless all its opens were decoded. */
START_TEST(opens_that_are_decoded)
{
    ck_assert_int_eq(stk_run_create(&run, new_home(), "one"), 0);
    for (int epoch = 0; epoch < 300; epoch++) {
        open_file(&run, 5);
        ck_assert_int_eq(stk_run_has_decoded(&run, 5), epoch >= 100); /* beyond all counting */
        ck_assert(stk_run_count_decoded(&run, 5));
        ck_assert(stk_run_has_decoded(&run, 5));
    }
    open_file(&run, 6);
    open_file(&run, 6);
    ck_assert(!stk_run_count_decoded(&run, 6)); /* the other open reads bytes */
    open_file(&run, 6);
    ck_assert(!stk_run_count_decoded(&run, 6));
    ck_assert(stk_run_count_decoded(&run, 7) && stk_run_count_decoded(&run, 7));
    open_file(&run, 7); /* a report before the open counts for nothing */
    ck_assert(!stk_run_has_decoded(&run, 7));
    ck_assert(!stk_run_count_decoded(&run, 0));
}
END_TEST

START_TEST(nothing_is_counted_without_a_file)
{
    struct stk_run_counts counts;
    memset(&run, 0, sizeof run);
    ck_assert_uint_eq(open_file(&run, 1), 0);
    stk_run_count_bypass(&run, STK_BYPASS_LARGE, 1);
    stk_run_count(&run, STK_RUN_COUNTER(stats_served), 1);
    stk_run_read(&run, &counts);
    ck_assert_uint_eq(counts.epochs[0][STK_COUNT_OPENS], 0);
}
END_TEST

static int count_in_child(void *context)
{
    (void)context;
    for (uint32_t record = 1; record <= 1000; record++) {
        stk_run_count_open(&run, &(struct stk_run_open_counts){
                                     .record = record, .kind = STK_COUNT_HITS, .bytes = 3});
        stk_run_count_bypass(&run, STK_BYPASS_YOUNG, 2);
        stk_run_count(
            &run, record % 2 == 0 ? STK_RUN_COUNTER(stats_served) : STK_RUN_COUNTER(stats_asked),
            1);
    }
    return 0;
}

/* The page that remembers a process's stripe is made before the fork: a child picks its own. */
START_TEST(counters_over_forks)
{
    struct stk_run_counts counts;
    ck_assert_int_eq(stk_run_create(&run, new_home(), "one"), 0);
    count_in_child(NULL);
    for (int i = 0; i < 8; i++) {
        pid_t pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
            _exit(count_in_child(NULL));
        }
    }
    int status;
    for (int i = 0; i < 8; i++) {
        ck_assert_int_gt(wait(&status), 0);
        ck_assert_int_eq(status, 0);
    }
    stk_run_read(&run, &counts);
    for (int epoch = 0; epoch < 9; epoch++) {
        ck_assert_uint_eq(counts.epochs[epoch][STK_COUNT_OPENS], 1000);
        ck_assert_uint_eq(counts.epochs[epoch][STK_COUNT_HITS], 1000);
        ck_assert_uint_eq(counts.epochs[epoch][STK_COUNT_BYTES_CACHE], 3000);
    }
    ck_assert_uint_eq(counts.epochs[9][STK_COUNT_OPENS], 0);
    ck_assert_uint_eq(counts.bypassed[STK_BYPASS_YOUNG], 9000);
    ck_assert_uint_eq(counts.stats_served, 4500);
    ck_assert_uint_eq(counts.stats_asked, 4500);
}
END_TEST

/* A view takes no part in the run, and a read-only file is enough for it. */
START_TEST(looking)
{
    static struct stk_run_view view;
    char title[2 * STK_RUN_TITLE_BYTES];
    const char *path = unit_path("home/runs/one");
    ck_assert_int_eq(stk_run_create(&run, new_home(), "one"), 0);
    ck_assert_int_eq(stk_run_look(path, &view), 0);
    ck_assert_str_eq(view.title, "");
    stk_run_entitle(&run, "python train.py");
    open_file(&run, 1);
    ck_assert_int_eq(chmod(path, 0400), 0);
    ck_assert_int_eq(stk_run_look(path, &view), 0);
    ck_assert_str_eq(view.title, "python train.py");
    ck_assert_int_eq(view.start_ns, stk_run_start_ns(&run));
    ck_assert_uint_eq(view.counts.epochs[0][STK_COUNT_OPENS], 1);
    memset(title, 'x', sizeof title);
    title[sizeof title - 1] = '\0';
    stk_run_entitle(&run, title);
    ck_assert_int_eq(stk_run_look(path, &view), 0);
    ck_assert_uint_eq(strlen(view.title), STK_RUN_TITLE_BYTES - 1);
    ck_assert_int_eq(chmod(path, 0604), 0);
    ck_assert_int_eq(stk_run_look(path, &view), -EPERM);
    ck_assert_int_eq(stk_run_look(unit_path("home/runs/two"), &view), -ENOENT);
    memset(&run, 0, sizeof run);
    stk_run_entitle(&run, "nothing");
}
END_TEST

/* A hit's wait is counted only if it had to ask the origin. */
START_TEST(waits_are_counted_by_their_length)
{
    struct stk_run_counts counts;
    struct stk_run_open_counts open = {.kind = STK_COUNT_HITS};
    ck_assert_int_eq(stk_run_create(&run, new_home(), "one"), 0);
    stk_run_count_open(&run, &open);
    stk_run_read(&run, &counts);
    for (unsigned bucket = 0; bucket < STK_WAITS_BUCKETS; bucket++) {
        ck_assert_uint_eq(counts.waits[bucket], 0);
        open.kind = bucket % 2 == 0 ? STK_COUNT_FILLS : STK_COUNT_OPENS;
        for (unsigned i = 0; i <= bucket; i++) {
            open.wait_ns = bucket > 0 ? (int64_t)stk_waits_bound_us(bucket - 1) * 1000 + 1 : 1;
            stk_run_count_open(&run, &open);
        }
    }
    stk_run_read(&run, &counts);
    for (unsigned bucket = 0; bucket < STK_WAITS_BUCKETS; bucket++) {
        ck_assert_uint_eq(counts.waits[bucket], bucket + 1);
    }
}
END_TEST

START_TEST(first_hits_that_waited)
{
    struct stk_run_counts counts;
    struct stk_run_open_counts open = {.record = 1, .kind = STK_COUNT_HITS, .wait_ns = 5};
    ck_assert_int_eq(stk_run_create(&run, new_home(), "one"), 0);
    stk_run_count_open(&run, &open);
    open.wait_ns = 70;
    stk_run_count_open(&run, &open); /* the file's second open */
    open.record = 2;
    open.awaited = true;
    stk_run_count_open(&run, &open);
    stk_run_count_open(&run, &open);
    stk_run_read(&run, &counts);
    ck_assert_uint_eq(counts.asked_ns, 5);
    ck_assert_uint_eq(counts.awaited, 1);
}
END_TEST

START_TEST(listings_and_what_is_read_ahead)
{
    struct stk_run_counts counts;
    ck_assert_int_eq(stk_run_create(&run, new_home(), "one"), 0);
    stk_run_count(&run, STK_RUN_COUNTER(listings_served), 1);
    stk_run_count(&run, STK_RUN_COUNTER(listings_served), 1);
    stk_run_count(&run, STK_RUN_COUNTER(listings_asked), 1);
    stk_run_count(&run, STK_RUN_COUNTER(ahead) + STK_AHEAD_BYTES, 70);
    stk_run_count(&run, STK_RUN_COUNTER(ahead) + STK_AHEAD_WINDOW_NS, 9);
    stk_run_read(&run, &counts);
    ck_assert_uint_eq(counts.listings_served, 2);
    ck_assert_uint_eq(counts.listings_asked, 1);
    ck_assert_uint_eq(counts.ahead[STK_AHEAD_FILES], 0);
    ck_assert_uint_eq(counts.ahead[STK_AHEAD_BYTES], 70);
    ck_assert_uint_eq(counts.ahead[STK_AHEAD_WINDOW_NS], 9);
}
END_TEST

/* The file is gone or another has its name: what needs mapping is not counted any more. */
START_TEST(replaced_while_mapped)
{
    static struct stk_run other;
    const char *home = new_home();
    ck_assert_int_eq(stk_run_create(&run, home, "one"), 0);
    ck_assert_int_eq(unlink(unit_path("home/runs/one")), 0);
    ck_assert_uint_eq(open_file(&run, 1), 0);
    ck_assert_uint_eq(open_file(&run, 1), 0);
    ck_assert_int_eq(stk_run_create(&other, home, "one"), 0);
    ck_assert_uint_eq(open_file(&run, 1), 0);
    ck_assert_uint_eq(open_file(&other, 1), 0);
    ck_assert_uint_eq(open_file(&other, 1), 1);
}
END_TEST

START_TEST(no_room_to_count)
{
    UNIT_NEEDS_PRIVATE();
    new_home();
    unit_mount_tmpfs(unit_path("home/runs"), "size=544k");
    ck_assert_int_eq(stk_run_create(&run, unit_path("home"), "one"), 0);
    ck_assert_uint_eq(open_file(&run, 1), 0);
    ck_assert_uint_eq(open_file(&run, 1), 0);
    static struct stk_run other;
    ck_assert_int_eq(stk_run_create(&other, unit_path("home"), "two"), -ENOSPC);
    ck_assert(!unit_exists(unit_path("home/runs/two")));
}
END_TEST

/* Each process of a rank counts in the rank's row, and in the sum; a child of fork by the rank that
 * its own environment has. */
START_TEST(ranks_are_counted_apart)
{
    static struct stk_run_counts counts;
    ck_assert_int_eq(stk_run_create(&run, new_home(), "one"), 0);
    ck_assert_int_eq(stk_run_read_rank(&run, 0, &counts), STK_RANK_NONE);
    run.rank = 70;
    open_file(&run, 5);
    for (int child = 0; child < STK_RANKS + 2; child++) {
        pid_t pid = fork();
        if (pid == 0) {
            char rank[12];
            snprintf(rank, sizeof rank, "%d", 71 + child / 2);
            setenv("RANK", rank, 1);
            open_file(&run, 5);
            _exit(0);
        }
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    }
    ck_assert_int_eq(stk_run_read_rank(&run, 0, &counts), 70);
    ck_assert_uint_eq(counts.epochs[0][STK_COUNT_OPENS], 1);
    ck_assert_int_eq(stk_run_read_rank(&run, 2, &counts), 72);
    ck_assert_uint_eq(counts.epochs[3][STK_COUNT_OPENS], 1);
    ck_assert_uint_eq(counts.epochs[4][STK_COUNT_OPENS], 1);
    stk_run_read(&run, &counts);
    for (int epoch = 0; epoch < STK_RANKS + 3; epoch++) {
        ck_assert_uint_eq(counts.epochs[epoch][STK_COUNT_OPENS], 1);
    }
}
END_TEST

START_TEST(reasons_have_names)
{
    for (enum stk_bypass why = 0; why < STK_BYPASS_KINDS; why++) {
        const char *name = stk_bypass_name(why);
        ck_assert_ptr_nonnull(name);
        for (enum stk_bypass other = 0; other < why; other++) {
            ck_assert_str_ne(name, stk_bypass_name(other));
        }
    }
}
END_TEST

Suite *suite_run(void)
{
    Suite *suite = suite_create("run");
    TCase *files = unit_case(suite, "run_file");
    tcase_add_test(files, creates_and_opens);
    tcase_add_test(files, lives_while_it_is_joined);
    tcase_add_test(files, refuses_other_files);
    tcase_add_test(files, replaced_while_mapped);
    tcase_add_test(files, looking);
    tcase_add_test(files, no_room_to_count);
    TCase *count = unit_case(suite, "run_count");
    tcase_add_test(count, epochs);
    tcase_add_test(count, waits_are_counted_by_their_length);
    tcase_add_test(count, first_hits_that_waited);
    tcase_add_test(count, listings_and_what_is_read_ahead);
    tcase_add_test(count, many_epochs_end_in_the_last);
    tcase_add_test(count, unknown_files_and_far_records);
    tcase_add_test(count, opens_that_are_decoded);
    tcase_add_test(count, nothing_is_counted_without_a_file);
    tcase_add_test(count, counters_over_forks);
    tcase_add_test(count, ranks_are_counted_apart);
    tcase_add_test(count, reasons_have_names);
    return suite;
}
