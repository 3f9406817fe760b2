/* base/proc.c */
#include "tests/unit/unit.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/proc.h"

#define TICK_NS (STK_NS_PER_S / 100)

START_TEST(reads_text)
{
    char text[8];
    unit_write_text(unit_path("file"), "0123456789");
    ck_assert_int_eq(stk_proc_read_text(unit_path("file"), text, sizeof text), 7);
    ck_assert_str_eq(text, "0123456");
    unit_write_text(unit_path("file"), "");
    ck_assert_int_eq(stk_proc_read_text(unit_path("file"), text, sizeof text), 0);
    ck_assert_str_eq(text, "");
    ck_assert_int_lt(stk_proc_read_text(unit_path("none"), text, sizeof text), 0);
}
END_TEST

static int start_of_child(void *context)
{
    int64_t begin_ns = *(int64_t *)context, start_ns;
    pid_t parent;
    prctl(PR_SET_NAME, "a) (b) S 1 ");
    if (stk_proc_start(getpid(), &start_ns, &parent) != 0 || parent != getppid()) {
        return 1;
    }
    /* Rounded up by one tick, of a clock that itself rounds down to ticks. */
    int64_t now_ns = stk_clock_boottime_ns();
    return start_ns >= begin_ns && start_ns <= now_ns + TICK_NS ? 0 : 2;
}

START_TEST(start_of_a_process)
{
    int64_t begin_ns = stk_clock_boottime_ns();
    ck_assert_int_eq(unit_in_child(start_of_child, &begin_ns), 0);
    int64_t start_ns;
    pid_t parent;
    ck_assert_int_lt(stk_proc_start(unit_dead_pid(), &start_ns, &parent), 0);
}
END_TEST

static int64_t start_of_run(void)
{
    int64_t start_ns;
    pid_t parent;
    ck_assert_int_eq(stk_proc_start(getppid(), &start_ns, &parent), 0);
    return start_ns;
}

static int child_has_run_start(void *context)
{
    return stk_proc_run_start_ns() == *(int64_t *)context ? 0 : 1;
}

/* Check's parent runs our executable, too, and what started it (a shell, make) does not. */
START_TEST(run_start_is_the_topmost_of_our_kind)
{
    int64_t wanted = start_of_run();
    ck_assert_int_eq(stk_proc_run_start_ns(), wanted);
    ck_assert_int_eq(unit_in_child(child_has_run_start, &wanted), 0);
}
END_TEST

/* A copy of this executable is another executable: it starts a run of its own. */
static int exec_copy(void *context)
{
    setenv("UNIT_PRINT_RUN_START", context, 1);
    execl(unit_path("copy"), "copy", (char *)NULL);
    return 99;
}

START_TEST(another_executable_breaks_the_chain)
{
    char command[8192];
    snprintf(command, sizeof command, "cp /proc/%d/exe %s", getpid(), unit_path("copy"));
    ck_assert_int_eq(system(command), 0);
    int64_t before_ns = stk_clock_boottime_ns();
    char out[PATH_MAX];
    snprintf(out, sizeof out, "%s", unit_path("start"));
    ck_assert_int_eq(unit_in_child(exec_copy, out), 0);
    char text[64];
    ck_assert_int_gt(stk_proc_read_text(out, text, sizeof text), 0);
    ck_assert_int_ge(atoll(text), before_ns);
    ck_assert_int_le(atoll(text), stk_clock_boottime_ns() + TICK_NS);
}
END_TEST

static int view_in_new_namespace(void *context)
{
    if (unshare(CLONE_NEWNS) != 0) {
        return 2;
    }
    return stk_proc_view() != *(uint64_t *)context ? 0 : 1;
}

/* Another root with the same /proc: the first half of a container's set-up. */
static int view_in_new_root(void *context)
{
    const char *proc = unit_directory("root/proc");
    if (mount("/proc", proc, NULL, MS_BIND | MS_REC, NULL) != 0 || chroot(unit_path("root")) != 0 ||
        access("/proc/self/ns/mnt", F_OK) != 0) {
        return 2;
    }
    return stk_proc_view() != *(uint64_t *)context ? 0 : 1;
}

static int same_view(void *context)
{
    return stk_proc_view() == *(uint64_t *)context ? 0 : 1;
}

START_TEST(view)
{
    uint64_t mine = stk_proc_view();
    ck_assert_uint_ne(mine, 0);
    ck_assert_int_eq(unit_in_child(same_view, &mine), 0);
    UNIT_NEEDS_PRIVATE();
    ck_assert_int_eq(unit_in_child(view_in_new_namespace, &mine), 0);
    unit_directory("root");
    ck_assert_int_eq(unit_in_child(view_in_new_root, &mine), 0);
}
END_TEST

START_TEST(fd_path)
{
    char path[32];
    stk_proc_fd_path(path, 2147483647);
    ck_assert_str_eq(path, "/proc/self/fd/2147483647");
}
END_TEST

Suite *suite_proc(void)
{
    Suite *suite = suite_create("proc");
    TCase *all = unit_case(suite, "proc_self");
    tcase_add_test(all, reads_text);
    tcase_add_test(all, start_of_a_process);
    tcase_add_test(all, run_start_is_the_topmost_of_our_kind);
    tcase_add_test(all, another_executable_breaks_the_chain);
    tcase_add_test(all, view);
    tcase_add_test(all, fd_path);
    return suite;
}
