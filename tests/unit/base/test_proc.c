/* base/proc.c */
#include "tests/unit/unit.h"

#include <limits.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

/* ---- runs ---- */

/* Prints when this process started; the last process also prints when its run began. Before that
 * each process starts another one, in the way that the next letter of UNIT_STEPS names. */
int proc_tell_starts(void)
{
    const char *steps = getenv("UNIT_STEPS");
    int64_t start_ns = 0;
    pid_t parent;
    FILE *out = fopen(getenv("UNIT_STARTS"), "a");
    if (out == NULL || stk_proc_start(getpid(), &start_ns, &parent) != 0) {
        return 1;
    }
    fprintf(out, "%lld\n", (long long)(*steps == '\0' ? stk_proc_run_start_ns() : start_ns));
    fclose(out);
    usleep(30000); /* some ticks, so that starts differ */
    pid_t pid = *steps != '\0' ? fork() : -1;
    if (pid == 0) {
        bool placed = *steps == 's'   ? setsid() >= 0
                      : *steps == 'g' ? setpgid(0, 0) == 0
                      : *steps == 'o' ? setenv("STOKER_MAX_FILE", "1M", 1) == 0
                      : *steps == 'n' ? unsetenv("STOKER_PATHS") == 0
                      : *steps == 'u' ? setenv("UNIT_OTHER", "1", 1) == 0
                                      : true;
        setenv("UNIT_STEPS", steps + 1, 1);
        if (placed && *steps == 'f') {
            _exit(proc_tell_starts());
        }
        execl("/proc/self/exe", "copy", (char *)NULL);
        _exit(99);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return status != 0;
}

/* A copy of this executable is another executable: it starts a run of its own. */
static int exec_copy(void *context)
{
    setenv("UNIT_STARTS", unit_path("starts"), 1);
    setenv("UNIT_STEPS", context, 1);
    execl(unit_path("copy"), "copy", (char *)NULL);
    return 99;
}

/* Which process of a chain, from 0, has lent the last one the start of its run. */
static size_t owner_of_run(const char *steps)
{
    char text[1024], mutable_steps[16];
    long long starts[16] = {0};
    size_t count = strlen(steps), owner = 0;
    remove(unit_path("starts"));
    strcpy(mutable_steps, steps);
    ck_assert_int_eq(unit_in_child(exec_copy, mutable_steps), 0);
    ck_assert_int_gt(stk_proc_read_text(unit_path("starts"), text, sizeof text), 0);
    char *at = text;
    for (size_t i = 0; i <= count; i++) {
        starts[i] = strtoll(at, &at, 10);
    }
    while (owner < count && starts[owner] != starts[count]) {
        owner++;
    }
    return owner;
}

/* The environment of these tests may hold settings. */
static void unset_settings(void)
{
    for (char **each = environ; *each != NULL;) {
        char name[256];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(*each, "="), *each);
        each++;
        if (strncmp(name, "STOKER_", strlen("STOKER_")) == 0) {
            unsetenv(name);
            each = environ;
        }
    }
}

START_TEST(runs)
{
    char command[8192];
    snprintf(command, sizeof command, "cp /proc/%d/exe %s", getpid(), unit_path("copy"));
    ck_assert_int_eq(system(command), 0);
    unset_settings();
    setenv("STOKER_PATHS", "/data", 1);
    /* All of one kind are one run, whether they were forked or started, ... */
    ck_assert_uint_eq(owner_of_run("pp"), 0);
    ck_assert_uint_eq(owner_of_run("ff"), 0);
    ck_assert_uint_eq(owner_of_run("pufp"), 0);
    /* ... until one begins a group or a session, or is started with other settings, ... */
    ck_assert_uint_eq(owner_of_run("pgp"), 2);
    ck_assert_uint_eq(owner_of_run("psp"), 2);
    ck_assert_uint_eq(owner_of_run("pop"), 2);
    ck_assert_uint_eq(owner_of_run("pg"), 2);
    /* ... and without settings there is none. */
    ck_assert_uint_eq(owner_of_run("pnpp"), 4);
}
END_TEST

/* No process here has the copy's executable. */
START_TEST(another_executable_breaks_the_chain)
{
    char command[8192];
    snprintf(command, sizeof command, "cp /proc/%d/exe %s", getpid(), unit_path("copy"));
    ck_assert_int_eq(system(command), 0);
    setenv("STOKER_PATHS", "/data", 1);
    int64_t before_ns = stk_clock_boottime_ns();
    char text[64], steps[] = "";
    ck_assert_int_eq(unit_in_child(exec_copy, steps), 0);
    ck_assert_int_gt(stk_proc_read_text(unit_path("starts"), text, sizeof text), 0);
    ck_assert_int_ge(atoll(text), before_ns);
    ck_assert_int_le(atoll(text), stk_clock_boottime_ns() + TICK_NS);
}
END_TEST

START_TEST(days_of_a_run)
{
    const int64_t day = 24 * 3600 * STK_NS_PER_S, start = 12345;
    ck_assert_int_eq(stk_proc_latest_day(start, start - 1), start);
    ck_assert_int_eq(stk_proc_latest_day(start, start + day - 1), start);
    ck_assert_int_eq(stk_proc_latest_day(start, start + day), start + day);
    ck_assert_int_eq(stk_proc_latest_day(start, start + 9 * day + 1), start + 9 * day);
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

static int is_same_rights(uint64_t mine, int count, const gid_t *groups, gid_t own)
{
    if (setgroups((size_t)count, groups) != 0 || setegid(own) != 0) {
        return 2;
    }
    return stk_proc_rights() == mine ? 0 : 1;
}

/* The group in effect counts once, wherever it stands. */
static int rights_of_groups(void *context)
{
    const gid_t groups[] = {15001, 15002};
    (void)context;
    if (setgroups(2, groups) != 0 || setegid(15001) != 0) {
        return 2;
    }
    uint64_t mine = stk_proc_rights();
    return is_same_rights(mine, 2, groups, 15002) == 0 &&
                   is_same_rights(mine, 1, groups, 15002) == 0 &&
                   is_same_rights(mine, 1, groups, 15001) == 1 &&
                   is_same_rights(mine, 0, groups, 15003) == 1
               ? 0
               : 1;
}

/* The line of groups before it is longer than one read of the status. */
static int rights_without_new_privileges(void *context)
{
    gid_t groups[1000];
    for (unsigned i = 0; i < 1000; i++) {
        groups[i] = 3000000000u + i;
    }
    if (geteuid() == 0 && setgroups(1000, groups) != 0) {
        return 2;
    }
    uint64_t before = stk_proc_rights();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    *(uint64_t *)context = stk_proc_rights();
    return *(uint64_t *)context != before ? 0 : 1;
}

START_TEST(rights_of_the_confined)
{
    uint64_t *rights =
        mmap(NULL, 2 * sizeof *rights, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 2 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0; i++) {
        ck_assert_int_eq(unit_in_child(rights_without_new_privileges, &rights[i]), 0);
    }
    ck_assert_uint_eq(rights[0], rights[1]);
    munmap(rights, 2 * sizeof *rights);
}
END_TEST

START_TEST(rights)
{
    ck_assert_uint_eq(stk_proc_rights(), stk_proc_rights());
    if (geteuid() == 0) {
        ck_assert_int_eq(unit_in_child(rights_of_groups, NULL), 0);
    }
}
END_TEST

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

/* Returns 0 in a child that is in another pid namespace, and says so. */
static int finds_new_namespace(void *parents)
{
    return stk_proc_pid_namespace() != *(uint64_t *)parents ? 0 : 1;
}

/* Its child, in another namespace, has the number 1 as well. */
static int first_of_namespace(void *parents)
{
    uint64_t mine = stk_proc_pid_namespace();
    return getpid() != 1 || mine == *(uint64_t *)parents || unshare(CLONE_NEWPID) != 0
               ? 2
               : unit_in_child(finds_new_namespace, &mine);
}

static int child_in_new_namespace(void *parents)
{
    return unshare(CLONE_NEWPID) != 0 || stk_proc_pid_namespace() != *(uint64_t *)parents
               ? 3
               : unit_in_child(first_of_namespace, parents);
}

START_TEST(pid_namespace)
{
    struct stat namespace;
    ck_assert_int_eq(stat("/proc/self/ns/pid", &namespace), 0);
    uint64_t mine = stk_proc_pid_namespace();
    ck_assert_uint_eq(mine, namespace.st_ino);
    ck_assert_uint_eq(stk_proc_pid_namespace(), mine);
    UNIT_NEEDS_PRIVATE();
    if (geteuid() == 0) {
        ck_assert_int_eq(unit_in_child(child_in_new_namespace, &mine), 0);
    }
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
    tcase_add_test(all, runs);
    tcase_add_test(all, days_of_a_run);
    tcase_add_test(all, another_executable_breaks_the_chain);
    tcase_add_test(all, view);
    tcase_add_test(all, rights);
    tcase_add_test(all, rights_of_the_confined);
    tcase_add_test(all, pid_namespace);
    tcase_add_test(all, fd_path);
    return suite;
}
