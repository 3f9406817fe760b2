/* base/tally.c */
#include "tests/unit/unit.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/tally.h"

START_TEST(belongs_to_a_run)
{
    char path[64];
    ck_assert(stk_tally_path(path, sizeof path, "/dev/shm/stoker-1/runs/12-ab"));
    ck_assert_str_eq(path, "/dev/shm/stoker-1/runs/.12-ab.decode");
    ck_assert(!stk_tally_path(path, 20, "/dev/shm/stoker-1/runs/12-ab"));
}
END_TEST

START_TEST(counts_for_all_who_opened_it)
{
    const char *path = unit_path("tally");
    ck_assert_int_eq(stk_tally_create(path), 0);
    ck_assert_int_eq(stk_tally_create(path), -EEXIST);
    ck_assert_uint_eq(unit_stat(path).st_mode & 07777, 0600);
    struct stk_tally *one = stk_tally_open(path), *other = stk_tally_open(path);
    ck_assert_ptr_nonnull(one);
    ck_assert_ptr_nonnull(other);
    stk_tally_add(one, STK_TALLY_IMAGES, 2);
    stk_tally_add(other, STK_TALLY_IMAGES, 3);
    stk_tally_add(other, STK_TALLY_CUSTOMISED, 1);
    ck_assert_uint_eq(stk_tally_read(one, STK_TALLY_IMAGES), 5);
    ck_assert_uint_eq(stk_tally_read(one, STK_TALLY_CUSTOMISED), 1);
    ck_assert_uint_eq(stk_tally_read(other, STK_TALLY_MODE), 0);
}
END_TEST

/* A reader gets the counters of that moment, in a copy that it may spoil. */
START_TEST(looking)
{
    const char *path = unit_path("tally");
    ck_assert_ptr_null(stk_tally_look(path));
    ck_assert_int_eq(stk_tally_create(path), 0);
    struct stk_tally *tally = stk_tally_open(path);
    stk_tally_add(tally, STK_TALLY_IMAGES, 2);
    struct stk_tally *look = stk_tally_look(path);
    ck_assert_ptr_nonnull(look);
    stk_tally_add(tally, STK_TALLY_IMAGES, 3);
    stk_tally_add(look, STK_TALLY_IMAGES, 100);
    ck_assert_uint_eq(stk_tally_read(look, STK_TALLY_IMAGES), 102);
    ck_assert_uint_eq(stk_tally_read(tally, STK_TALLY_IMAGES), 5);
    stk_tally_close(look);
    ck_assert_int_eq(chmod(path, 0640), 0);
    ck_assert_ptr_null(stk_tally_look(path));
    unit_write_text(unit_path("other"), "text");
    ck_assert_int_eq(chmod(unit_path("other"), 0600), 0);
    ck_assert_ptr_null(stk_tally_look(unit_path("other")));
}
END_TEST

START_TEST(grants)
{
    uint64_t granted = 5;
    ck_assert_int_eq(stk_tally_create(unit_path("tally")), 0);
    struct stk_tally *tally = stk_tally_open(unit_path("tally"));
    ck_assert(!stk_tally_read_grant(tally, "/dev/shm/x:0", &granted));
    stk_tally_grant(tally, "/dev/shm/x:0", 4097);
    ck_assert(stk_tally_read_grant(tally, "/dev/shm/x:0", &granted));
    ck_assert_uint_eq(granted, 4097);
    stk_tally_grant(tally, "/dev/shm/x:0", 8193);
    ck_assert(stk_tally_read_grant(tally, "/dev/shm/x:0", &granted));
    ck_assert_uint_eq(granted, 8193);
    ck_assert(!stk_tally_read_grant(tally, "/dev/shm/x:1", &granted)); /* the user's own */
}
END_TEST

/* Another pid namespace has a store of its own, for which nothing was reserved. */
START_TEST(grants_are_of_one_pid_namespace)
{
    UNIT_NEEDS_ROOT();
    uint64_t granted;
    int status;
    ck_assert_int_eq(stk_tally_create(unit_path("tally")), 0);
    struct stk_tally *tally = stk_tally_open(unit_path("tally"));
    stk_tally_grant(tally, "/x:0", 4096);
    pid_t pid = fork();
    if (pid == 0) {
        if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) {
            _exit(2);
        }
        if (fork() == 0) {
            mount("proc", "/proc", "proc", 0, NULL);
            _exit(stk_tally_read_grant(tally, "/x:0", &granted) ? 1 : 0);
        }
        wait(&status);
        _exit(status == 0 ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(who_waits_is_asked)
{
    ck_assert_int_eq(stk_tally_create(unit_path("tally")), 0);
    struct stk_tally *tally = stk_tally_open(unit_path("tally"));
    stk_tally_wait(tally, 1000000); /* not for ever */
    stk_tally_ask(tally);
    stk_tally_ask(tally);
    alarm(20);
    stk_tally_wait(tally, INT64_C(1000) * 1000000000); /* asked before */
    pid_t pid = fork();
    if (pid == 0) {
        usleep(100000);
        stk_tally_ask(tally);
        _exit(0);
    }
    stk_tally_wait(tally, INT64_C(1000) * 1000000000);
    waitpid(pid, NULL, 0);
}
END_TEST

START_TEST(turns_others_files_away)
{
    static const char zeros[4096];
    ck_assert_ptr_null(stk_tally_open(unit_path("nothing")));
    unit_write(unit_path("zeros"), zeros, sizeof zeros);
    chmod(unit_path("zeros"), 0600);
    ck_assert_ptr_null(stk_tally_open(unit_path("zeros")));
    ck_assert_int_eq(stk_tally_create(unit_path("tally")), 0);
    chmod(unit_path("tally"), 0644);
    ck_assert_ptr_null(stk_tally_open(unit_path("tally")));
}
END_TEST

/* Two processes in the same pass: from the first one's beginning to the last one's end. */
START_TEST(passes_of_several)
{
    struct stk_tally_pass pass;
    ck_assert_int_eq(stk_tally_create(unit_path("passes")), 0);
    struct stk_tally *tally = stk_tally_open(unit_path("passes"));
    stk_tally_begin_pass(tally, 1, 2,
                         &(struct stk_tally_pass){.begun_ns = 50, .expected = 4, .workers = 2});
    stk_tally_begin_pass(tally, 1, 2,
                         &(struct stk_tally_pass){.begun_ns = 40, .expected = 5, .workers = 3});
    for (uint64_t end = 100; end >= 90; end -= 10) {
        stk_tally_add_pass(
            tally, 1, 2, STK_RANK_NONE,
            &(struct stk_tally_pass){
                .ended_ns = end, .lasted_ns = 50, .waited_ns = 20, .samples = 8, .batches = 1});
    }
    stk_tally_read_pass(tally, 1, 2, &pass);
    ck_assert(pass.begun_ns == 40 && pass.ended_ns == 100 && pass.lasted_ns == 100);
    ck_assert(pass.waited_ns == 40 && pass.samples == 16 && pass.batches == 2);
    ck_assert(pass.expected == 9 && pass.workers == 5 && pass.begins == 2);
    stk_tally_read_pass(tally, 1, 1, &pass);
    ck_assert(pass.begins == 0 && pass.begun_ns == 0 && pass.ended_ns == 0);
    stk_tally_close(tally);
}
END_TEST

/* Later ones than there is room for are counted in the last. */
START_TEST(passes_beyond_those_counted)
{
    struct stk_tally_pass pass;
    ck_assert_int_eq(stk_tally_create(unit_path("far")), 0);
    struct stk_tally *tally = stk_tally_open(unit_path("far"));
    for (unsigned number = STK_TALLY_PASSES - 1; number < STK_TALLY_PASSES + 2; number++) {
        stk_tally_add_pass(tally, 1000, number, STK_RANK_NONE,
                           &(struct stk_tally_pass){.samples = 1});
    }
    stk_tally_read_pass(tally, STK_TALLY_LOADERS - 1, STK_TALLY_PASSES - 1, &pass);
    ck_assert_uint_eq(pass.samples, 3);
    stk_tally_close(tally);
}
END_TEST

START_TEST(passes_of_ranks)
{
    struct stk_tally_rank sums;
    ck_assert_int_eq(stk_tally_create(unit_path("ranks")), 0);
    struct stk_tally *tally = stk_tally_open(unit_path("ranks"));
    const struct stk_tally_pass step = {
        .lasted_ns = 50, .waited_ns = 20, .samples = 8, .batches = 1};
    ck_assert_int_eq(stk_tally_read_rank(NULL, 0, &sums), STK_RANK_NONE);
    stk_tally_add_pass(tally, 0, 0, STK_RANK_NONE, &step);
    ck_assert_int_eq(stk_tally_read_rank(tally, 0, &sums), STK_RANK_NONE);
    stk_tally_add_pass(tally, 0, 0, 9, &step);
    stk_tally_add_pass(tally, 0, 0, 0, &step);
    stk_tally_add_pass(tally, 1, 3, 9, &step);
    ck_assert_int_eq(stk_tally_read_rank(tally, 0, &sums), 9);
    ck_assert(sums.lasted_ns == 100 && sums.waited_ns == 40);
    ck_assert(sums.samples == 16 && sums.batches == 2);
    ck_assert_int_eq(stk_tally_read_rank(tally, 1, &sums), 0);
    ck_assert_uint_eq(sums.samples, 8);
    stk_tally_close(tally);
}
END_TEST

START_TEST(every_slot_has_its_texts)
{
    for (int slot = 0; slot < STK_TALLY_SLOTS; slot++) {
        ck_assert_ptr_nonnull(stk_tally_name((enum stk_tally_slot)slot));
        ck_assert_ptr_nonnull(stk_tally_meaning((enum stk_tally_slot)slot));
    }
}
END_TEST

START_TEST(calls_by_their_names)
{
    char name[100];
    struct stk_tally_call call;
    const char *path = unit_path("tally");
    ck_assert_int_eq(stk_tally_create(path), 0);
    struct stk_tally *one = stk_tally_open(path), *other = stk_tally_open(path);
    ck_assert(!stk_tally_read_call(one, 0, &call) && !stk_tally_read_call(NULL, 0, &call));
    stk_tally_add_call(one, "Blur", 5);
    stk_tally_add_call(other, "Rotate", 1);
    stk_tally_add_call(other, "Blur", 6);
    ck_assert(stk_tally_read_call(one, 0, &call));
    ck_assert_str_eq(call.name, "Blur");
    ck_assert_uint_eq(call.ns, 11);
    for (int i = 0; i < 2 * STK_TALLY_CALLS; i++) { /* further ones have no room */
        snprintf(name, sizeof name, "%090d", i);
        stk_tally_add_call(one, name, 1);
    }
    ck_assert(stk_tally_read_call(other, STK_TALLY_CALLS - 1, &call));
    ck_assert_uint_eq(strlen(call.name), STK_TALLY_CALL_NAME - 1);
    ck_assert(!stk_tally_read_call(other, STK_TALLY_CALLS, &call));
    stk_tally_add_call(one, "Rotate", 1);
    ck_assert(stk_tally_read_call(one, 1, &call));
    ck_assert_uint_eq(call.ns, 2);
}
END_TEST

Suite *suite_tally(void)
{
    Suite *suite = suite_create("tally");
    TCase *tcase = unit_case(suite, "tally");
    tcase_add_test(tcase, belongs_to_a_run);
    tcase_add_test(tcase, counts_for_all_who_opened_it);
    tcase_add_test(tcase, looking);
    tcase_add_test(tcase, calls_by_their_names);
    tcase_add_test(tcase, grants);
    tcase_add_test(tcase, grants_are_of_one_pid_namespace);
    tcase_add_test(tcase, who_waits_is_asked);
    tcase_add_test(tcase, turns_others_files_away);
    tcase_add_test(tcase, passes_of_several);
    tcase_add_test(tcase, passes_beyond_those_counted);
    tcase_add_test(tcase, passes_of_ranks);
    tcase_add_test(tcase, every_slot_has_its_texts);
    return suite;
}
