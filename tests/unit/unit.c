/* The unit tests' main program, and what all of them use. See tests/unit/unit.h. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/proc.h"
#include "tests/unit/private.h"

#define SECONDS_PER_TEST 300 /* then it hangs; on a busy machine some take half a minute */
#define PATHS            16
#define PATH_BYTES       4608

static char scratch[64];
static bool may_mount, is_root;

void unit_skip(const char *test, const char *reason)
{
    int length = (int)(strlen(test) - strlen("_fn")); /* Check adds it */
    fprintf(stderr, "skipped: %.*s: %s\n", length, test, reason);
}

bool unit_is_private(void)
{
    return may_mount;
}

bool unit_is_root(void)
{
    return is_root && may_mount;
}

/* ---- paths and files ---- */

static char *next_path(void)
{
    static char paths[PATHS][PATH_BYTES];
    static unsigned turn;
    return paths[turn++ % PATHS];
}

const char *unit_join(const char *a, const char *b)
{
    char *path = next_path();
    ck_assert_int_lt(snprintf(path, PATH_BYTES, "%s/%s", a, b), PATH_BYTES);
    return path;
}

const char *unit_path(const char *leaf)
{
    return unit_join(scratch, leaf);
}

const char *unit_directory(const char *leaf)
{
    const char *path = unit_path(leaf);
    ck_assert_msg(mkdir(path, 0755) == 0, "mkdir %s: %s", path, strerror(errno));
    return path;
}

void unit_write(const char *path, const void *data, size_t bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    ck_assert_msg(fd >= 0, "%s: %s", path, strerror(errno));
    ck_assert_int_eq(write(fd, data, bytes), (ssize_t)bytes);
    ck_assert_int_eq(close(fd), 0);
}

void unit_write_text(const char *path, const char *text)
{
    unit_write(path, text, strlen(text));
}

bool unit_has_text(const char *path, const char *text)
{
    char buffer[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t got = read(fd, buffer, sizeof buffer);
    close(fd);
    return got == (ssize_t)strlen(text) && memcmp(buffer, text, (size_t)got) == 0;
}

bool unit_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

struct stat unit_stat(const char *path)
{
    struct stat out;
    ck_assert_msg(stat(path, &out) == 0, "%s: %s", path, strerror(errno));
    return out;
}

void unit_assert_same(const struct stk_identity *a, const struct stk_identity *b)
{
    struct statx first, second;
    stk_identity_to_statx(a, &first);
    stk_identity_to_statx(b, &second);
    ck_assert_mem_eq(&first, &second, sizeof first);
}

void unit_tick(void)
{
    usleep(12000); /* the coarse clock's tick is 10 ms at most */
}

void unit_pause(void)
{
    usleep(1000);
}

void unit_mount_tmpfs(const char *path, const char *options)
{
    ck_assert_msg(mount("tmpfs", path, "tmpfs", 0, options) == 0, "%s: %s", path, strerror(errno));
}

/* ---- processes ---- */

int unit_in_child(int (*work)(void *context), void *context)
{
    int status;
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        _exit(work(context));
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

pid_t unit_dead_pid(void)
{
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    return pid;
}

/* ---- signals ---- */

static pthread_t interrupted, interrupter;
static _Atomic bool interrupts;

static void do_nothing(int number)
{
    (void)number;
}

static void *send_signals(void *unused)
{
    while (atomic_load(&interrupts)) {
        usleep(5000);
        pthread_kill(interrupted, SIGUSR1);
    }
    return unused;
}

void unit_signals_begin(void)
{
    const struct sigaction action = {.sa_handler = do_nothing, .sa_flags = SA_RESTART};
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    interrupted = pthread_self();
    atomic_store(&interrupts, true);
    ck_assert_int_eq(pthread_create(&interrupter, NULL, send_signals, NULL), 0);
}

void unit_signals_end(void)
{
    atomic_store(&interrupts, false);
    ck_assert_int_eq(pthread_join(interrupter, NULL), 0);
}

/* ---- a place for each test ---- */

static void enter(void)
{
    if (may_mount) {
        ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
        unit_mount_tmpfs("/dev/shm", "size=512m,mode=1777");
        unit_mount_tmpfs(scratch, "size=256m,mode=0755");
    }
    ck_assert_int_eq(unsetenv("XDG_RUNTIME_DIR"), 0);
}

static void leave(void)
{
}

static bool lists_cases; /* instead of running them */

TCase *unit_case(Suite *suite, const char *name)
{
    TCase *made = tcase_create(name);
    if (lists_cases) {
        puts(name);
    }
    tcase_add_checked_fixture(made, enter, leave);
    tcase_set_timeout(made, SECONDS_PER_TEST);
    suite_add_tcase(suite, made);
    return made;
}

static SRunner *make_runner(void)
{
    static Suite *(*const suites[])(void) = {
        suite_tally,          suite_text,      suite_path,        suite_options,
        suite_proc,           suite_memory,    suite_volume,      suite_walk,
        suite_hash,           suite_store,     suite_sys,         suite_identity,
        suite_record,         suite_claim,     suite_budget,      suite_beyond,
        suite_sample_quota,   suite_home,      suite_catalogue,   suite_tiers,
        suite_tier,           suite_mounts,    suite_root,        suite_entry,
        suite_checksum,       suite_changes,   suite_run,         suite_versions,
        suite_freshness,      suite_lookup,    suite_fill,        suite_writes,
        suite_drop,           suite_slot,      suite_ring,        suite_revalidation_queue,
        suite_shared_request, suite_listing,   suite_blocks,      suite_big_queue,
        suite_content,        suite_kernel,    suite_gpu,         suite_thread_pool,
        suite_waits,          suite_transient, suite_tree,        suite_trusted,
        suite_notice,         suite_order,     suite_order_queue, suite_pace,
        suite_scan_window,    suite_invariant, suite_advice,      suite_lines,
        suite_ending,         suite_nearest,   suite_team_walk,   suite_progress,
        suite_sample_files,   suite_flag,      suite_top_page,    suite_buffer,
        suite_beside,         suite_name_rule, suite_range_name,  suite_leases,
    };
    SRunner *runner = srunner_create(NULL);
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++) {
        srunner_add_suite(runner, suites[i]());
    }
    return runner;
}

/* Returns true if a source below tests/unit has the suite of that name. */
static bool is_suite(const char *folders, const char *name)
{
    char pattern[128];
    glob_t found;
    snprintf(pattern, sizeof pattern, "tests/unit/%s/test_%s.c", folders, name);
    bool is_there = glob(pattern, 0, NULL, &found) == 0;
    globfree(&found);
    return is_there;
}

/* `name` is a suite, else a case of any suite, else nothing; NULL and "" are everything. */
static void run(SRunner *runner, const char *name)
{
    if (name == NULL || *name == '\0') {
        srunner_run_all(runner, CK_ENV);
        return;
    }
    if (is_suite("*", name) || is_suite("*/*", name)) {
        srunner_run(runner, name, NULL, CK_ENV);
    } else {
        srunner_run(runner, NULL, name, CK_ENV);
    }
}

int main(int argc, char **argv)
{
    if (getenv("UNIT_STARTS") != NULL) {
        return proc_tell_starts();
    }
    if (argc > 1 && strcmp(argv[1], "--cases") == 0) {
        lists_cases = true;
        srunner_free(make_runner());
        return 0;
    }
    strcpy(scratch, "/tmp/stoker-unit-XXXXXX");
    if (mkdtemp(scratch) == NULL) {
        perror(scratch);
        return 1;
    }
    is_root = geteuid() == 0;
    may_mount = private_enter("mode=1777");
    SRunner *runner = make_runner();
    run(runner, argc > 1 ? argv[1] : NULL);
    bool good = srunner_ntests_failed(runner) == 0 && srunner_ntests_run(runner) > 0;
    srunner_free(runner);
    rmdir(scratch);
    return good ? 0 : 1;
}
