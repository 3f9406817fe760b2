/* cache/file/fill.c, through cache/cache.h */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cache/catalogue/claim.h"
#include "cache/file/fill.h"
#include "cache/origin/reader.h"
#include "cache/tier/ledger.h"
#include "cache/version/drop.h"
#include "tests/unit/box.h"
#include "tests/unit/cache/recount.h"

#define SEGMENT_BLOCKS                                                                             \
    ((int64_t)(STK_SEGMENT_RECORDS * sizeof(struct stk_record) / STK_BLOCK_BYTES))

#define MS (STK_NS_PER_S / 1000)

static const char *catalogue_file(void)
{
    static char path[STK_HOME_BYTES + 16];
    snprintf(path, sizeof path, "%s/catalogue", box.cache.tier.home);
    return path;
}

START_TEST(fills_and_hits)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("file", "hello");
    int64_t used = box_used_blocks();
    ck_assert_int_eq(box_ask("file"), STK_ANSWER_FILL);
    ck_assert(box_fill("file"));
    ck_assert_int_eq(box.outcome.kind, STK_COUNT_FILLS);
    ck_assert_uint_eq(box.outcome.size, 5);
    ck_assert(unit_has_text(box.entry, "hello"));
    ck_assert_uint_eq(unit_stat(box.entry).st_mode, S_IFREG | 0400);
    ck_assert_uint_eq(atomic_load(&box_record("file")->entry_ino), unit_stat(box.entry).st_ino);
    ck_assert_int_gt(box_used_blocks(), used);
    ck_assert_int_eq(box_ask("file"), STK_ANSWER_HIT);
    ck_assert_str_eq(box.ask.entry, box.entry);
    ck_assert_uint_eq(box.ask.size, 5);
    ck_assert_int_eq(box.ask.began_ns, 0);
}
END_TEST

static int hits_in_another_process(void *context)
{
    box_reopen();
    return box_ask("file") == STK_ANSWER_HIT && unit_has_text(box.ask.entry, context) ? 0 : 1;
}

START_TEST(hits_in_other_processes)
{
    UNIT_NEEDS_PRIVATE();
    char text[] = "hello";
    box_open();
    box_write("file", text);
    ck_assert(box_open_file("file"));
    ck_assert_int_eq(unit_in_child(hits_in_another_process, text), 0);
}
END_TEST

START_TEST(large_contents_are_whole)
{
    UNIT_NEEDS_PRIVATE();
    static char data[1000003], got[sizeof data + 1];
    box_open();
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (char)(i * i >> 7);
    }
    unit_write(box_origin("file"), data, sizeof data);
    ck_assert(box_open_file("file"));
    int fd = open(box.entry, O_RDONLY);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(read(fd, got, sizeof got), sizeof data);
    ck_assert_mem_eq(got, data, sizeof data);
}
END_TEST

/* ---- new versions ---- */

static void change_and_reopen(void (*change)(const char *name, const char *text))
{
    char old[STK_PATH_BYTES];
    box_open();
    box_write("file", "first");
    ck_assert(box_open_file("file"));
    strcpy(old, box.entry);
    int64_t used = box_used_blocks();
    change("file", "other"); /* as long as before */
    ck_assert(box_open_file("file"));
    ck_assert(unit_has_text(box.entry, "first")); /* this run has seen it */
    box_begin_run();
    ck_assert_int_eq(box_ask("file"), STK_ANSWER_FILL);
    ck_assert(!unit_exists(old));
    ck_assert(box_fill("file"));
    ck_assert_str_ne(box.entry, old);
    ck_assert(unit_has_text(box.entry, "other"));
    ck_assert_int_eq(box_used_blocks(), used);
}

START_TEST(replaced_file)
{
    UNIT_NEEDS_PRIVATE();
    change_and_reopen(box_replace);
}
END_TEST

START_TEST(rewritten_in_place)
{
    UNIT_NEEDS_PRIVATE();
    change_and_reopen(box_write);
}
END_TEST

START_TEST(unchanged_in_a_new_run)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("file", "hello");
    ck_assert(box_open_file("file"));
    uint64_t asked = box_counts().stats_asked;
    box_begin_run();
    ck_assert_int_eq(box_ask("file"), STK_ANSWER_HIT);
    ck_assert_int_ne(box.ask.began_ns, 0);
    ck_assert_uint_eq(box_counts().stats_asked, asked + 1);
    ck_assert_int_eq(box_ask("file"), STK_ANSWER_HIT);
    ck_assert_int_eq(box.ask.began_ns, 0);
    ck_assert_uint_eq(box_counts().stats_asked, asked + 1);
}
END_TEST

START_TEST(vanished_in_a_new_run)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("file", "hello");
    ck_assert(box_open_file("file"));
    ck_assert_int_eq(unlink(box_origin("file")), 0);
    box_begin_run();
    ck_assert_int_eq(box_ask("file"), STK_ANSWER_FILL); /* the real open will say it */
}
END_TEST

/* A file that was empty or too large at first, and is not any more. */
START_TEST(becomes_cacheable)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("empty", "");
    ck_assert(!box_open_file("empty"));
    box_write("large", "");
    ck_assert_int_eq(truncate(box_origin("large"), 2 << 20), 0);
    ck_assert(!box_open_file("large"));
    box_write("empty", "content");
    box_write("large", "content");
    box_begin_run();
    ck_assert(box_open_file("empty"));
    ck_assert(unit_has_text(box.entry, "content"));
    ck_assert(box_open_file("large"));
    ck_assert(unit_has_text(box.entry, "content"));
}
END_TEST

/* ---- files that are not cached ---- */

static void assert_bypassed(const char *name, enum stk_bypass why)
{
    ck_assert(!box_fill(name));
    ck_assert_int_eq(box.outcome.kind, STK_COUNT_OPENS);
    ck_assert_msg(box.outcome.why == why, "%s: %s, not %s", name, stk_bypass_name(box.outcome.why),
                  stk_bypass_name(why));
    ck_assert_int_ne(box_ask(name), STK_ANSWER_HIT);
}

START_TEST(too_young)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box.cache.options.min_age_ns = 100000 * MS;
    box_write("file", "hello");
    assert_bypassed("file", STK_BYPASS_YOUNG);
    box.cache.options.min_age_ns = 200 * MS;
    usleep(300000);
    ck_assert(box_open_file("file"));
    ck_assert_int_eq(box_ask("file"), STK_ANSWER_HIT);
    box.cache.options.min_age_ns = 100000 * MS;
    box_write("file", "hullo");
    ck_assert_int_eq(chmod(box_origin("file"), 0600), 0);
    struct timespec old[2] = {{1000000000, 0}, {1000000000, 0}};
    ck_assert_int_eq(utimensat(AT_FDCWD, box_origin("file"), old, 0), 0);
    box_begin_run();
    assert_bypassed("file", STK_BYPASS_YOUNG); /* by its ctime */
}
END_TEST

static void write_dense(const char *name, size_t bytes)
{
    static char data[1 << 20];
    int fd = open(box_origin(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    ck_assert_int_ge(fd, 0);
    for (size_t done = 0; done < bytes; done += sizeof data) {
        size_t more = bytes - done < sizeof data ? bytes - done : sizeof data;
        ck_assert_int_eq(pwrite(fd, data, more, (off_t)done), (ssize_t)more);
    }
    close(fd);
}

START_TEST(empty_large_and_databases)
{
    UNIT_NEEDS_PRIVATE();
    char name[300];
    box_open();
    box_write("empty", "");
    assert_bypassed("empty", STK_BYPASS_EMPTY);
    unit_write_text(box_origin("large"), "x");
    ck_assert_int_eq(truncate(box_origin("large"), (1 << 20) + 1), 0);
    assert_bypassed("large", STK_BYPASS_LARGE);
    write_dense("large", 1 << 20);
    ck_assert(box_fill("large"));
    unit_write(box_origin("database"), "SQLite format 3\0rest", 20);
    assert_bypassed("database", STK_BYPASS_DATABASE);
    unit_write(box_origin("no-database"), "SQLite format 3!rest", 20);
    ck_assert(box_fill("no-database"));
    box_write("x.db-wal", "x");
    assert_bypassed("x.db-wal", STK_BYPASS_DATABASE);
    box_write("x.sqlite3", "x");
    assert_bypassed("x.sqlite3", STK_BYPASS_DATABASE);
    memset(name, 'n', 243);
    name[243] = '\0';
    box_write(name, "x");
    assert_bypassed(name, STK_BYPASS_NAME);
    name[242] = '\0';
    box_write(name, "x");
    ck_assert(box_fill(name));
}
END_TEST

/* 8 KB of data in front of a hole, or behind it. */
static void write_sparse(const char *name, bool hole_first)
{
    char data[8192];
    memset(data, 'd', sizeof data);
    int fd = open(box_origin(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, 100000), 0);
    ck_assert_int_eq(pwrite(fd, data, sizeof data, hole_first ? 81920 : 0), sizeof data);
    close(fd);
    unit_tick();
}

/* SEEK_HOLE finds holes, and a copy without them takes all of its size. */
START_TEST(with_holes)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    int64_t used = box_used_blocks();
    write_sparse("front", true);
    write_sparse("end", false);
    assert_bypassed("front", STK_BYPASS_SPARSE);
    assert_bypassed("end", STK_BYPASS_SPARSE);
    ck_assert_int_eq(box_used_blocks(), used + SEGMENT_BLOCKS); /* the catalogue's */
    /* That needs to be found out but once. */
    ck_assert_int_eq(box_ask("front"), STK_ANSWER_ORIGIN);
    ck_assert_int_eq(box.ask.why, STK_BYPASS_SPARSE);
    box_begin_run();
    ck_assert_int_eq(box_ask("front"), STK_ANSWER_FILL);
    assert_bypassed("front", STK_BYPASS_SPARSE);
    write_dense("front", 100000);
    box_begin_run();
    ck_assert(box_open_file("front"));
}
END_TEST

/* As compressing file systems do, and such as keep small files elsewhere: few blocks, no hole. */
START_TEST(few_blocks_without_holes)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    struct stk_identity identity = {.size = 100000, .blocks = 8};
    write_dense("file", 100000);
    int fd = open(box_origin("file"), O_RDONLY | O_CLOEXEC);
    struct stat stat = unit_stat(box_origin("file"));
    identity.dev = stat.st_dev;
    identity.ino = stat.st_ino;
    struct stk_origin origin = {.fd = fd, .dev = stat.st_dev, .ino = stat.st_ino};
    ck_assert_int_eq(lseek(fd, 5, SEEK_SET), 5);
    ck_assert(!stk_origin_has_holes(&origin, &identity));
    ck_assert_int_eq(lseek(fd, 0, SEEK_CUR), 5);
    close(fd);
}
END_TEST

START_TEST(nothing_is_left_of_a_fill_that_failed)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("first", "x");
    ck_assert(box_fill("first"));
    int64_t used = box_used_blocks(), blocks, before, inodes;
    ck_assert_int_eq(stk_ledger_walk(box.cache.tier.home, 0, NULL, &before, &inodes), 0);
    unit_write(box_origin("database"), "SQLite format 3\0rest", 20);
    assert_bypassed("database", STK_BYPASS_DATABASE);
    ck_assert_int_eq(stk_ledger_walk(box.cache.tier.home, 0, NULL, &blocks, &inodes), 0);
    ck_assert_int_eq(box_used_blocks(), used);
    ck_assert_int_eq(blocks, before);
}
END_TEST

/* Files whose size says something else than their content: sysfs has such. */
START_TEST(length_lies)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    ck_assert_int_eq(symlink("/sys/kernel/mm/transparent_hugepage/enabled", box_origin("file")), 0);
    int fd = open(box_origin("file"), O_RDONLY);
    UNIT_NEEDS(fd >= 0, "needs sysfs");
    ck_assert(!stk_cache_fill(&box.cache, box_place("file"), fd, stk_clock_boottime_ns(), box.entry,
                              &box.outcome));
    ck_assert_int_eq(box.outcome.why, STK_BYPASS_CHANGED);
    close(fd);
}
END_TEST

/* Its descriptor still shows the former content. */
START_TEST(replaced_since_it_was_opened)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box.cache.roots.roots[0].inode_counts = false;
    box_write("file", "first");
    int fd = open(box_origin("file"), O_RDONLY);
    ck_assert_int_ge(fd, 0);
    box_replace("file", "other");
    ck_assert(!stk_cache_fill(&box.cache, box_place("file"), fd, stk_clock_boottime_ns(), box.entry,
                              &box.outcome));
    ck_assert_int_eq(box.outcome.why, STK_BYPASS_CHANGED);
    close(fd);
    ck_assert(box_fill("file"));
    ck_assert(unit_has_text(box.entry, "other"));
}
END_TEST

START_TEST(not_a_regular_file)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    ck_assert_int_eq(mkdir(box_origin("directory"), 0755), 0);
    ck_assert(!box_fill("directory"));
    ck_assert_int_eq(box.outcome.why, STK_BYPASS_NONE);
    stk_cache_count(&box.cache, &box.outcome);
    ck_assert_uint_eq(box_counts().epochs[0][STK_COUNT_OPENS], 0);
}
END_TEST

/* The pause may be over when the origin is open. */
START_TEST(one_wait_for_a_shared_tier)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("file", "text");
    ck_assert(box_open_file("file"));
    struct stk_shared_requests *requests = stk_run_shared_requests(&box.cache.run);
    struct stk_fill fill = {.cache = &box.cache,
                            .place = box_place("file"),
                            .record = box_record("file"),
                            .opened_ns = stk_clock_boottime_ns()};
    stk_shared_requests_open(requests);
    atomic_store(&requests->on_node, 1);
    atomic_store(&requests->spares, 1); /* nothing is asked */
    ck_assert(stk_fill_is_shared(&fill));
    stk_shared_requests_pause(requests, STK_SHARED_REQUESTS_LATE);
    stk_shared_requests_resume(requests);
    ck_assert(!stk_fill_is_shared(&fill));
    fill.opened_ns = stk_clock_boottime_ns() + 1;
    ck_assert(stk_fill_is_shared(&fill));
}
END_TEST

/* ---- budgets ---- */

START_TEST(refused_until_the_budget_is_raised)
{
    UNIT_NEEDS_PRIVATE();
    static char data[300000];
    char name[16];
    int filled = 0;
    box_prepare();
    strcpy(box.options.tiers, "/dev/shm:6M");
    box_reopen();
    struct stk_budget *budget = &box.cache.tier.shared->budget;
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "file%02d", i);
        unit_write(box_origin(name), data, sizeof data);
        filled += box_open_file(name);
        ck_assert_int_le(atomic_load(&budget->used_blocks), atomic_load(&budget->blocks));
    }
    ck_assert_int_gt(filled, 5);
    ck_assert_int_lt(filled, 20);
    ck_assert_int_eq(box.outcome.why, STK_BYPASS_BUDGET);
    ck_assert_int_eq(box_ask("file29"), STK_ANSWER_ORIGIN);
    ck_assert_int_eq(box.ask.why, STK_BYPASS_BUDGET);
    ck_assert_int_eq(box_ask("file00"), STK_ANSWER_HIT);
    int64_t blocks, inodes;
    ck_assert_int_eq(stk_ledger_walk(box.cache.tier.home, 0, NULL, &blocks, &inodes), 0);
    ck_assert_int_le(blocks, 6 * 2048);
    stk_budget_set(budget, 16 * 2048, 1000);
    ck_assert_int_eq(box_ask("file29"), STK_ANSWER_FILL);
    ck_assert(box_fill("file29"));
    ck_assert_int_eq(box_ask("file29"), STK_ANSWER_HIT);
}
END_TEST

START_TEST(a_full_file_system)
{
    UNIT_NEEDS_PRIVATE();
    static char data[1 << 20];
    box_prepare();
    const char *small = unit_directory("small");
    unit_mount_tmpfs(small, "size=2m,mode=0755");
    snprintf(box.options.tiers, sizeof box.options.tiers, "%s:2M", small);
    box_reopen();
    unit_write(unit_join(small, "of-another"), data, sizeof data);
    unit_write(unit_join(small, "of-another-2"), data, sizeof data / 2);
    unit_write(box_origin("file"), data, sizeof data);
    assert_bypassed("file", STK_BYPASS_TIER);
    /* For a while nothing is tried. */
    ck_assert_int_eq(unlink(unit_join(small, "of-another")), 0);
    assert_bypassed("file", STK_BYPASS_TIER);
    atomic_store(&box.cache.tier.shared->budget.full_ns, 1);
    ck_assert(box_open_file("file"));
}
END_TEST

START_TEST(no_tier)
{
    UNIT_NEEDS_PRIVATE();
    box_prepare();
    strcpy(box.options.tiers, "/proc:1G");
    box_reopen();
    ck_assert_ptr_null(box.cache.tier.shared);
    box_write("file", "x");
    assert_bypassed("file", STK_BYPASS_TIER);
}
END_TEST

START_TEST(no_catalogue)
{
    UNIT_NEEDS_PRIVATE();
    char user[64];
    struct stk_identity identity;
    box_prepare();
    unit_mount_tmpfs("/dev/shm", "size=64k");
    snprintf(user, sizeof user, "/run/user/%u", (unsigned)geteuid());
    if (unit_exists(user)) {
        unit_mount_tmpfs(user, "size=64k");
    }
    unit_mount_tmpfs("/tmp", "size=256k"); /* the origin is gone, too */
    box_reopen();
    ck_assert_ptr_null(box.cache.catalogue.header);
    ck_assert_ptr_null(box.cache.tier.shared);
    struct stk_place place = {.root = &box.cache.roots.roots[0], .dirfd = AT_FDCWD, .path = "/"};
    ck_assert_int_eq(stk_cache_lookup(&box.cache, &place, &box.ask), STK_ANSWER_ORIGIN);
    ck_assert_int_eq(box.ask.why, STK_BYPASS_CATALOGUE);
    ck_assert(!stk_cache_stat(&box.cache, &place, false, &identity));
    struct statx answer;
    ck_assert_int_eq(stk_cache_stat_origin(&box.cache, &place, false, &answer), -EAGAIN);
    struct stk_mark mark;
    stk_cache_mark_written(&box.cache, &place, &mark);
    stk_cache_unmark_written(&box.cache, &mark);
    stk_cache_distrust(&box.cache, &place);
    stk_cache_distrust_all(&box.cache);
}
END_TEST

/* ---- losses ---- */

START_TEST(lost_entry)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("file", "hello");
    ck_assert(box_open_file("file"));
    int64_t used = box_used_blocks();
    ck_assert_int_eq(unlink(box.entry), 0);
    ck_assert_int_eq(box_ask("file"), STK_ANSWER_HIT);
    stk_cache_lost(&box.cache, &box.ask);
    ck_assert_int_eq(box_ask("file"), STK_ANSWER_FILL);
    ck_assert(box_fill("file"));
    ck_assert_int_eq(box.outcome.kind, STK_COUNT_FILLS);
    ck_assert(unit_has_text(box.entry, "hello"));
    ck_assert_int_eq(unit_recount(&box.cache.tier), 0);
    ck_assert_int_eq(box_used_blocks(), used);
}
END_TEST

static void lose_catalogue(void)
{
    stk_catalogue_close(&box.cache.catalogue);
    ck_assert_int_eq(unlink(catalogue_file()), 0);
    box_reopen();
    ck_assert_ptr_nonnull(box.cache.catalogue.header);
}

START_TEST(adopts_when_the_catalogue_was_lost)
{
    UNIT_NEEDS_PRIVATE();
    char entry[STK_PATH_BYTES];
    box_open();
    box_write("file", "hello");
    ck_assert(box_open_file("file"));
    strcpy(entry, box.entry);
    uint64_t ino = unit_stat(entry).st_ino;
    lose_catalogue();
    int64_t used = box_used_blocks();
    ck_assert_int_eq(box_ask("file"), STK_ANSWER_FILL);
    ck_assert(box_fill("file"));
    ck_assert_int_eq(box.outcome.kind, STK_COUNT_HITS);
    ck_assert_str_eq(box.entry, entry);
    ck_assert_uint_eq(unit_stat(entry).st_ino, ino);
    ck_assert_uint_eq(atomic_load(&box_record("file")->entry_ino), ino);
    ck_assert_int_eq(box_ask("file"), STK_ANSWER_HIT);
    ck_assert_int_eq(box_used_blocks() - used,
                     SEGMENT_BLOCKS); /* a segment of the catalogue, no more */
}
END_TEST

START_TEST(does_not_adopt_what_is_not_whole)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("file", "hello");
    ck_assert(box_open_file("file"));
    ck_assert_int_eq(truncate(box.entry, 3), 0);
    lose_catalogue();
    int64_t used = box_used_blocks();
    ck_assert(box_open_file("file"));
    ck_assert_int_eq(box.outcome.kind, STK_COUNT_FILLS);
    ck_assert(unit_has_text(box.entry, "hello"));
    ck_assert_int_eq(box_used_blocks() - used,
                     SEGMENT_BLOCKS); /* a segment of the catalogue, no more */
}
END_TEST

START_TEST(does_not_adopt_links)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("file", "hello");
    ck_assert(box_open_file("file"));
    unit_write_text(unit_path("bait"), "bait!");
    ck_assert_int_eq(unlink(box.entry), 0);
    ck_assert_int_eq(symlink(unit_path("bait"), box.entry), 0);
    lose_catalogue();
    bool filled = box_open_file("file");
    ck_assert(!filled || unit_has_text(box.entry, "hello"));
    ck_assert(unit_has_text(unit_path("bait"), "bait!"));
}
END_TEST

START_TEST(not_filled_into_a_closed_catalogue)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("file", "hello");
    atomic_store(&box.cache.catalogue.header->closed, 1);
    assert_bypassed("file", STK_BYPASS_CATALOGUE);
    atomic_store(&box.cache.catalogue.header->closed, 0);
    ck_assert_int_eq(unlink(catalogue_file()), 0);
    assert_bypassed("file", STK_BYPASS_CATALOGUE);
}
END_TEST

/* ---- several fillers ---- */

static _Atomic uint64_t *claim_of(const char *name)
{
    box_learn(name);
    struct stk_record *record = box_record(name);
    ck_assert_ptr_nonnull(record);
    return &record->claim;
}

static int claim_and_die(void *context)
{
    _Atomic uint64_t *claim = context;
    return stk_claim_take(claim, stk_claim_load(claim)) ? 0 : 1;
}

static int64_t open_ns(const char *name)
{
    int64_t before = stk_clock_boottime_ns();
    ck_assert(box_open_file(name));
    return stk_clock_boottime_ns() - before;
}

/* How long the open of a file takes whose filler has died. */
static int64_t open_after_death_ns(const char *name)
{
    box_write(name, "hello");
    ck_assert_int_eq(unit_in_child(claim_and_die, claim_of(name)), 0);
    int64_t took = open_ns(name);
    ck_assert_int_eq(box.outcome.kind, STK_COUNT_FILLS);
    return took;
}

static int64_t open_beside_stuck_ns(const char *name)
{
    box_write(name, "hello");
    _Atomic uint64_t *claim = claim_of(name);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        stk_claim_take(claim, stk_claim_load(claim));
        pause();
        _exit(1);
    }
    UNIT_WAIT_UNTIL(stk_claim_load(claim).state == STK_FILLING);
    int64_t took = open_ns(name);
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    ck_assert_int_eq(box_ask(name), STK_ANSWER_HIT);
    return took;
}

/* The shortest of some opens, which goes below `short_ns` unless something is wrong: on a busy
 * machine any one of them may be long. */
static int64_t shortest_ns(int64_t (*open)(const char *name), int64_t short_ns)
{
    char name[16];
    int64_t shortest = INT64_MAX;
    for (int i = 0; i < 10 && shortest >= short_ns; i++) {
        snprintf(name, sizeof name, "file%d", i);
        int64_t took = open(name);
        shortest = took < shortest ? took : shortest;
    }
    return shortest;
}

START_TEST(a_filler_that_died)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    ck_assert_int_lt(shortest_ns(open_after_death_ns, 500 * MS), 500 * MS);
}
END_TEST

/* The whole open takes two seconds and not much more, and the next ones take nothing. */
START_TEST(a_filler_that_is_stuck)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    int64_t waited = shortest_ns(open_beside_stuck_ns, 3000 * MS);
    ck_assert_int_ge(waited, 2000 * MS);
    ck_assert_int_lt(waited, 3000 * MS);
}
END_TEST

/* Takes a second, and gets on. */
static int fill_slowly(void *context)
{
    (void)context;
    _Atomic uint64_t *claim = &box_record("file")->claim;
    if (!stk_claim_take(claim, stk_claim_load(claim))) {
        return 1;
    }
    for (int i = 0; i < 100 && stk_claim_advance(claim); i++) {
        usleep(10000);
    }
    return stk_claim_finish(claim, STK_ABSENT, 0, 0) && box_fill("file") ? 0 : 2;
}

START_TEST(waits_for_another)
{
    UNIT_NEEDS_PRIVATE();
    int status;
    box_open();
    box_write("file", "hello");
    _Atomic uint64_t *claim = claim_of("file");
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        _exit(fill_slowly(NULL));
    }
    UNIT_WAIT_UNTIL(stk_claim_load(claim).state == STK_FILLING);
    ck_assert(box_open_file("file"));
    ck_assert_int_ne(box.ask.began_ns, 0);
    ck_assert(box.ask.awaited || box.outcome.awaited);
    ck_assert(unit_has_text(box.entry, "hello"));
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(filled_by_another_in_between)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("file", "hello");
    ck_assert(box_fill("file"));
    ck_assert_int_eq(box.outcome.kind, STK_COUNT_FILLS);
    ck_assert(!box.outcome.awaited);
    ck_assert(box_fill("file"));
    ck_assert_int_eq(box.outcome.kind, STK_COUNT_HITS);
    ck_assert(box.outcome.awaited);
    ck_assert(unit_has_text(box.entry, "hello"));
    box_write("file", "other");
    ck_assert(box_fill("file")); /* what is open now is what counts */
    ck_assert(unit_has_text(box.entry, "other"));
}
END_TEST

struct late_publisher {
    char aside[STK_PATH_BYTES], entry[STK_PATH_BYTES];
    char drafts[STK_HOME_BYTES + 8];
    int64_t used_blocks; /* without the entry */
    _Atomic bool over;
};

/* Puts an entry into place as soon as a process begins to make the same one, or after it has. */
static void *publish_late(void *context)
{
    struct late_publisher *late = context;
    int64_t inodes, blocks = 0;
    while (blocks == 0 && !atomic_load(&late->over)) {
        stk_ledger_walk(late->drafts, 0, NULL, &blocks, &inodes);
    }
    return rename(late->aside, late->entry) == 0 ? NULL : context;
}

/* Fills the file, whose entry is dropped before, while another thread publishes the same one. */
static void fill_beside(struct late_publisher *late)
{
    pthread_t thread;
    void *failed;
    ck_assert_int_eq(link(late->entry, late->aside), 0);
    stk_drop_entry(&box.cache, box.outcome.record, late->entry);
    ck_assert(!unit_exists(late->entry));
    late->used_blocks = box_used_blocks();
    atomic_store(&late->over, false);
    ck_assert_int_eq(pthread_create(&thread, NULL, publish_late, late), 0);
    ck_assert(box_fill("file"));
    atomic_store(&late->over, true);
    ck_assert_int_eq(pthread_join(thread, &failed), 0);
    ck_assert_ptr_null(failed);
}

/* A filler that had been thought dead was only slow, and is faster in the end. That its place is
 * taken is no reason to make another in the next tier. On a busy machine it may come too late. */
START_TEST(published_by_another_meanwhile)
{
    UNIT_NEEDS_PRIVATE();
    static struct late_publisher late;
    box_prepare();
    snprintf(box.options.tiers, sizeof box.options.tiers, "/dev/shm:64M,%s:64M",
             unit_directory("second"));
    box_reopen();
    ck_assert_ptr_nonnull(box.cache.tiers[1].shared);
    box.cache.options.max_file_bytes = 64 << 20;
    write_dense("file", 32 << 20);
    unit_tick();
    ck_assert(box_fill("file"));
    strcpy(late.entry, box.entry);
    strcpy(late.aside, unit_join(box.cache.tier.home, "aside"));
    strcpy(late.drafts, unit_join(box.cache.tier.home, "fill"));
    for (int i = 0; i < 50 && box.outcome.kind == STK_COUNT_FILLS; i++) {
        fill_beside(&late);
        ck_assert_str_eq(box.entry, late.entry);
    }
    ck_assert_int_eq(box.outcome.kind, STK_COUNT_HITS);
    ck_assert_int_eq(box_used_blocks(), late.used_blocks); /* the other has paid */
    ck_assert_int_eq(box_ask("file"), STK_ANSWER_HIT);
    ck_assert_uint_eq(atomic_load(&box_record("file")->entry_ino), unit_stat(late.entry).st_ino);
}
END_TEST

/* Another thread closes a number under the fill; another file gets it, and then the first again. */
#define TURNS 100

struct turn {
    int first, other, number;
    _Atomic unsigned pauses_us; /* between half of it and more than all of it */
    _Atomic bool over;
};

static void pause_between(const struct turn *turn, unsigned *seed)
{
    unsigned us = atomic_load(&turn->pauses_us);
    usleep(us / 2 + (unsigned)rand_r(seed) % us);
}

static void *turn_number(void *context)
{
    struct turn *turn = context;
    unsigned seed = 1;
    while (!atomic_load(&turn->over)) {
        dup2(turn->other, turn->number);
        pause_between(turn, &seed);
        dup2(turn->first, turn->number);
        pause_between(turn, &seed);
    }
    return NULL;
}

/* A file of so many of the letter. */
static int open_letters(const char *name, char letter)
{
    static char letters[1 << 20];
    memset(letters, letter, sizeof letters);
    unit_write(box_origin(name), letters, sizeof letters);
    return open(box_origin(name), O_RDONLY);
}

static bool has_only(const char *path, char letter)
{
    static char got[1 << 20];
    int fd = open(path, O_RDONLY);
    ck_assert_int_eq(read(fd, got, sizeof got), sizeof got);
    close(fd);
    return got[0] == letter && memcmp(got, got + 1, sizeof got - 1) == 0;
}

/* Returns the inode number of the version that the last fill recorded. */
static uint64_t recorded_ino(void)
{
    struct stk_identity identity;
    ck_assert(stk_record_get_identity(
        stk_catalogue_record(&box.cache.catalogue, box.outcome.record), &identity));
    return identity.ino;
}

START_TEST(numbers_that_turn)
{
    UNIT_NEEDS_PRIVATE();
    pthread_t thread;
    box_open();
    struct turn turn = {
        .first = open_letters("first", 'a'), .other = open_letters("other", 'b'), .pauses_us = 400};
    uint64_t first_ino = unit_stat(box_origin("first")).st_ino;
    turn.number = dup(turn.first);
    unit_tick();
    ck_assert_int_eq(pthread_create(&thread, NULL, turn_number, &turn), 0);
    int filled = 0;
    for (int i = 0; i < TURNS || (filled == 0 && i < 50 * TURNS); i++) {
        if (i % TURNS == TURNS - 1 && filled == 0 && turn.pauses_us < 200000) {
            atomic_store(&turn.pauses_us,
                         2 * turn.pauses_us); /* on a busy machine no fill had the time */
        }
        const struct stk_place *place = box_place("first");
        if (stk_cache_fill(&box.cache, place, turn.number, stk_clock_boottime_ns(), box.entry,
                           &box.outcome)) {
            ck_assert(has_only(box.entry, recorded_ino() == first_ino ? 'a' : 'b'));
            filled++;
            stk_drop_entry(&box.cache, box.outcome.record, box.entry);
        }
    }
    atomic_store(&turn.over, true);
    pthread_join(thread, NULL);
    ck_assert_int_gt(filled, 0);
}
END_TEST

/* Eight processes open the same files: each file is filled once. */
START_TEST(single_flight)
{
    UNIT_NEEDS_PRIVATE();
    char name[16];
    int status;
    box_open();
    unit_tick();
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "file%d", i);
        unit_write_text(box_origin(name), name);
    }
    for (int worker = 0; worker < 8; worker++) {
        pid_t pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
            for (int i = 0; i < 50; i++) {
                snprintf(name, sizeof name, "file%d", i);
                if (!box_open_file(name) || !unit_has_text(box.entry, name)) {
                    _exit(1);
                }
                box.outcome.kind =
                    box.outcome.kind == STK_COUNT_FILLS ? STK_COUNT_FILLS : STK_COUNT_HITS;
                stk_cache_count(&box.cache, &box.outcome);
                box.outcome = (struct stk_outcome){.kind = STK_COUNT_HITS};
            }
            _exit(0);
        }
    }
    for (int worker = 0; worker < 8; worker++) {
        ck_assert_int_gt(wait(&status), 0);
        ck_assert_int_eq(status, 0);
    }
    uint64_t fills = 0;
    struct stk_run_counts counts = box_counts();
    for (int epoch = 0; epoch < STK_RUN_EPOCHS; epoch++) {
        fills += counts.epochs[epoch][STK_COUNT_FILLS];
    }
    ck_assert_uint_eq(fills, 50);
}
END_TEST

START_TEST(counts_what_happened)
{
    UNIT_NEEDS_PRIVATE();
    box_open();
    box_write("file", "hello");
    ck_assert(box_open_file("file"));
    box.outcome.wait_ns = 7;
    stk_cache_count(&box.cache, &box.outcome);
    ck_assert_int_eq(box_ask("file"), STK_ANSWER_HIT);
    struct stk_outcome hit = {
        .kind = STK_COUNT_HITS, .record = box.ask.record, .size = box.ask.size};
    stk_cache_count(&box.cache, &hit);
    struct stk_outcome bypass = {.kind = STK_COUNT_OPENS, .why = STK_BYPASS_LARGE, .size = 100};
    stk_cache_count(&box.cache, &bypass);
    struct stk_run_counts counts = box_counts();
    ck_assert_uint_eq(counts.epochs[0][STK_COUNT_OPENS], 2);
    ck_assert_uint_eq(counts.epochs[0][STK_COUNT_FILLS], 1);
    ck_assert_uint_eq(counts.epochs[0][STK_COUNT_BYTES_ORIGIN], 105);
    ck_assert_uint_eq(counts.epochs[0][STK_COUNT_WAIT_NS], 7);
    ck_assert_uint_eq(counts.epochs[1][STK_COUNT_OPENS], 1);
    ck_assert_uint_eq(counts.epochs[1][STK_COUNT_HITS], 1);
    ck_assert_uint_eq(counts.epochs[1][STK_COUNT_BYTES_CACHE], 5);
    ck_assert_uint_eq(counts.bypassed[STK_BYPASS_LARGE], 1);
}
END_TEST

static struct stk_identity identity_of(const char *name)
{
    struct statx answer;
    struct stk_identity identity;
    ck_assert_int_eq(statx(AT_FDCWD, box_origin(name), 0, STATX_BASIC_STATS | STATX_BTIME, &answer),
                     0);
    ck_assert(stk_identity_from_statx(&identity, &answer));
    return identity;
}

START_TEST(entries_are_known_without_a_catalogue)
{
    UNIT_NEEDS_PRIVATE();
    static struct stk_cache bare;
    box_open();
    box_write("file", "content");
    bare.options = box.cache.options;
    strcpy(bare.tier.home, box.cache.tier.home);
    struct stk_identity identity = identity_of("file");
    ck_assert_int_eq(stk_cache_reason_against(&bare, box_place("file"), &identity),
                     STK_BYPASS_NONE);
    ck_assert(!stk_cache_has_entry(&bare, box_place("file"), &identity));
    ck_assert(box_open_file("file"));
    ck_assert(stk_cache_has_entry(&bare, box_place("file"), &identity));
    box_replace("file", "other");
    identity = identity_of("file");
    ck_assert(!stk_cache_has_entry(&bare, box_place("file"), &identity));
    identity.size = 0;
    ck_assert_int_eq(stk_cache_reason_against(&bare, box_place("file"), &identity),
                     STK_BYPASS_EMPTY);
    ck_assert_int_eq(stk_cache_reason_against(&bare, box_place("x.sqlite"), &identity),
                     STK_BYPASS_EMPTY);
    identity.size = 1;
    ck_assert_int_eq(stk_cache_reason_against(&bare, box_place("x.sqlite"), &identity),
                     STK_BYPASS_DATABASE);
    bare.options.min_age_ns = 100 * STK_NS_PER_S;
    ck_assert_int_eq(stk_cache_reason_against(&bare, box_place("file"), &identity),
                     STK_BYPASS_YOUNG);
}
END_TEST

Suite *suite_fill(void)
{
    Suite *suite = suite_create("fill");
    TCase *fill = unit_case(suite, "fill_and_hit");
    tcase_add_test(fill, fills_and_hits);
    tcase_add_test(fill, hits_in_other_processes);
    tcase_add_test(fill, large_contents_are_whole);
    tcase_add_test(fill, counts_what_happened);
    TCase *versions = unit_case(suite, "fill_versions");
    tcase_add_test(versions, replaced_file);
    tcase_add_test(versions, rewritten_in_place);
    tcase_add_test(versions, unchanged_in_a_new_run);
    tcase_add_test(versions, vanished_in_a_new_run);
    tcase_add_test(versions, becomes_cacheable);
    TCase *bypass = unit_case(suite, "fill_bypass");
    tcase_add_test(bypass, too_young);
    tcase_add_test(bypass, empty_large_and_databases);
    tcase_add_test(bypass, entries_are_known_without_a_catalogue);
    tcase_add_test(bypass, with_holes);
    tcase_add_test(bypass, few_blocks_without_holes);
    tcase_add_test(bypass, nothing_is_left_of_a_fill_that_failed);
    tcase_add_test(bypass, length_lies);
    tcase_add_test(bypass, replaced_since_it_was_opened);
    tcase_add_test(bypass, not_a_regular_file);
    tcase_add_test(bypass, one_wait_for_a_shared_tier);
    TCase *budget = unit_case(suite, "fill_budget");
    tcase_add_test(budget, refused_until_the_budget_is_raised);
    tcase_add_test(budget, a_full_file_system);
    tcase_add_test(budget, no_tier);
    tcase_add_test(budget, no_catalogue);
    TCase *lost = unit_case(suite, "fill_losses");
    tcase_add_test(lost, lost_entry);
    tcase_add_test(lost, adopts_when_the_catalogue_was_lost);
    tcase_add_test(lost, does_not_adopt_what_is_not_whole);
    tcase_add_test(lost, does_not_adopt_links);
    tcase_add_test(lost, not_filled_into_a_closed_catalogue);
    TCase *several = unit_case(suite, "fill_several");
    tcase_add_test(several, a_filler_that_died);
    tcase_add_test(several, a_filler_that_is_stuck);
    tcase_add_test(several, waits_for_another);
    tcase_add_test(several, filled_by_another_in_between);
    tcase_add_test(several, published_by_another_meanwhile);
    tcase_add_test(several, numbers_that_turn);
    tcase_add_test(several, single_flight);
    return suite;
}
