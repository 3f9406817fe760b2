/*
 * The unit tests' common ground. Check forks a process for each test. Each has a mount namespace of
 * its own with an empty tmpfs on /dev/shm. So no file of the user's is seen or touched, and none is
 * left behind.
 */
#pragma once

#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "cache/catalogue/identity.h"

/*
 * Check notes each assertion that holds, for "after this point", in a file of messages. The parent
 * reads them at the end of a test, in time that grows with their number's square. So a line is
 * noted when it is reached first. A test is a process of its own, and begins with no line noted.
 */
#define _mark_point(file, line)                                                                    \
    ({                                                                                             \
        static _Thread_local bool unit_line_noted;                                                 \
        if (!unit_line_noted) {                                                                    \
            unit_line_noted = true;                                                                \
            (_mark_point)(file, line);                                                             \
        }                                                                                          \
    })

/* One suite for each source. */
Suite *suite_advice(void);
Suite *suite_lines(void);
Suite *suite_lookup(void);
Suite *suite_blocks(void);
Suite *suite_budget(void);
Suite *suite_progress(void);
Suite *suite_team_walk(void);
Suite *suite_top_page(void);
Suite *suite_beyond(void);
Suite *suite_catalogue(void);
Suite *suite_claim(void);
Suite *suite_content(void);
Suite *suite_thread_pool(void);
Suite *suite_drop(void);
Suite *suite_entry(void);
Suite *suite_fill(void);
Suite *suite_ending(void);
Suite *suite_nearest(void);
Suite *suite_flag(void);
Suite *suite_gpu(void);
Suite *suite_sample_quota(void);
Suite *suite_hash(void);
Suite *suite_home(void);
Suite *suite_identity(void);
Suite *suite_invariant(void);
Suite *suite_writes(void);
Suite *suite_memory(void);
Suite *suite_kernel(void);
Suite *suite_listing(void);
Suite *suite_buffer(void);
Suite *suite_mounts(void);
Suite *suite_options(void);
Suite *suite_path(void);
Suite *suite_proc(void);
Suite *suite_checksum(void);
Suite *suite_notice(void);
Suite *suite_order(void);
Suite *suite_order_queue(void);
Suite *suite_pace(void);
Suite *suite_leases(void);
Suite *suite_range_name(void);
Suite *suite_beside(void);
Suite *suite_name_rule(void);
Suite *suite_sample_files(void);
Suite *suite_scan_window(void);
Suite *suite_record(void);
Suite *suite_versions(void);
Suite *suite_ring(void);
Suite *suite_big_queue(void);
Suite *suite_revalidation_queue(void);
Suite *suite_shared_request(void);
Suite *suite_transient(void);
Suite *suite_root(void);
Suite *suite_run(void);
Suite *suite_slot(void);
Suite *suite_store(void);
Suite *suite_sys(void);
Suite *suite_tally(void);
Suite *suite_text(void);
Suite *suite_tier(void);
Suite *suite_tiers(void);
Suite *suite_tree(void);
Suite *suite_freshness(void);
Suite *suite_volume(void);
Suite *suite_waits(void);
Suite *suite_walk(void);
Suite *suite_trusted(void);
Suite *suite_changes(void);

/* A case of a suite, named for `T=name`, whose tests each get a fresh place. */
TCase *unit_case(Suite *suite, const char *name);

/* Ends a test that cannot run here, and says so. */
#define UNIT_NEEDS(condition, reason)                                                              \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            unit_skip(__func__, reason);                                                           \
            return;                                                                                \
        }                                                                                          \
    } while (0)
#define UNIT_NEEDS_PRIVATE() UNIT_NEEDS(unit_is_private(), "needs a private mount namespace")
#define UNIT_NEEDS_ROOT()    UNIT_NEEDS(unit_is_root(), "needs to be root")
void unit_skip(const char *test, const char *reason);
/* `all` in the plain build, and `some` under a sanitizer, where each step takes ten times as long.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNIT_STEPS(all, some) (some)
#else
#define UNIT_STEPS(all, some) (all)
#endif

/* Waits until another thread or process has made the condition true. Check ends a test that waits
 * in vain. */
#define UNIT_WAIT_UNTIL(condition)                                                                 \
    do {                                                                                           \
        unit_pause();                                                                              \
    } while (!(condition))
/* Sleeps for a millisecond. */
void unit_pause(void);
/* Returns true if this test has its own /dev/shm and may mount. */
bool unit_is_private(void);
/* Returns true if files may be given to other users. */
bool unit_is_root(void);

/* "SCRATCH/leaf", where SCRATCH is empty when a test begins; one of 16 buffers in turn. */
const char *unit_path(const char *leaf);
/* "a/b", in the same buffers. */
const char *unit_join(const char *a, const char *b);
/* Makes a directory of that name below SCRATCH and returns its path. */
const char *unit_directory(const char *leaf);
/* Writes a file anew (in place if it is there). */
void unit_write(const char *path, const void *data, size_t bytes);
void unit_write_text(const char *path, const char *text);
/* Returns true if the file has exactly this text. */
bool unit_has_text(const char *path, const char *text);
bool unit_exists(const char *path);
struct stat unit_stat(const char *path);
/* Fails the test unless all that two identities say is equal. */
void unit_assert_same(const struct stk_identity *a, const struct stk_identity *b);
/* Lets the file systems' clock go on, so that the next change gets another time stamp. */
void unit_tick(void);
void unit_mount_tmpfs(const char *path, const char *options);

/* Runs `work` in a child, which must end by itself; its exit status, or -signal. */
int unit_in_child(int (*work)(void *context), void *context);
/* Sends this thread SIGUSR1 again and again until the end. The signal does nothing, and restarts
 * what it interrupts. The first ones may come before the thread waits. */
void unit_signals_begin(void);
void unit_signals_end(void);
/* Runs as a copy of this program, for test_proc.c; returns its exit status. */
int proc_tell_starts(void);
/* A pid that no process has. */
pid_t unit_dead_pid(void);
