/* cache/entry/draft.c */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/own_number.h"
#include "cache/entry/draft.h"

static char name[] = "ext4@0123456789abcdef/data/set";
static _Atomic bool noted[STK_TIERS];
static const struct stk_root root = {.prefix = "/data/set",
                                     .canonical = "/data/set",
                                     .usable = true,
                                     .name = name,
                                     .name_length = sizeof name - 1,
                                     .noted = noted};

START_TEST(paths)
{
    char path[STK_PATH_BYTES];
    ck_assert(stk_entry_path(path, "/t/stoker-0", &root, "a/b/x.JPEG", 0x3f2a91c07bd4));
    ck_assert_str_eq(path,
                     "/t/stoker-0/tree/ext4@0123456789abcdef/data/set/a/b/3f2a91c07bd4;x.JPEG");
    ck_assert(stk_entry_path(path, "/t/stoker-0", &root, "x", 1));
    ck_assert_str_eq(path, "/t/stoker-0/tree/ext4@0123456789abcdef/data/set/000000000001;x");
    static char below[STK_PATH_BYTES];
    memset(below, 'x', sizeof below - 1);
    ck_assert(!stk_entry_path(path, "/t/stoker-0", &root, below, 1));
}
END_TEST

START_TEST(there_and_back)
{
    static const char *const belows[] = {"x", "a/b/x.JPEG", "a/;x",
                                         ";", "a b/ü\n",    "000000000001;x"};
    char path[STK_PATH_BYTES];
    struct stk_entry_parts parts;
    for (size_t i = 0; i < sizeof belows / sizeof *belows; i++) {
        ck_assert(stk_entry_path(path, "/t/stoker-0", &root, belows[i], 0xffffffffffff));
        ck_assert(stk_entry_parse(path, "/t/stoker-0", &parts));
        ck_assert_str_eq(stk_root_below(&root, parts.file), belows[i]);
        ck_assert_uint_eq(parts.name, 0xffffffffffff);
        ck_assert(!stk_entry_parse(path, "/t/stoker-1", &parts));
        ck_assert(!stk_entry_parse(path, "/t/stoker", &parts));
    }
}
END_TEST

START_TEST(no_entries)
{
    static const char *const bad[] = {
        "/t/stoker-0",
        "/t/stoker-0/tree",
        "/t/stoker-0/tree/",
        "/t/stoker-0/tree/123456789abc;x",
        "/t/stoker-0/tree/set/x",
        "/t/stoker-0/tree/set/;origin",
        "/t/stoker-0/tree/set/123456789ab;x",
        "/t/stoker-0/tree/set/123456789ABC;x",
        "/t/stoker-0/tree/set/123456789abcx",
        "/t/stoker-0/fill/set/123456789abc;x",
        "/t/stoker-00/tree/set/123456789abc;x",
        "",
    };
    struct stk_entry_parts parts;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_msg(!stk_entry_parse(bad[i], "/t/stoker-0", &parts), "%s", bad[i]);
    }
}
END_TEST

/* ---- publishing ---- */

static struct stk_tier_shared shared;
static struct stk_tier tier;

static void make_tier(int64_t blocks, int64_t inodes, bool memory)
{
    tier.shared = &shared;
    shared.memory = memory;
    shared.block_bytes = 4096;
    stk_budget_set(&shared.budget, blocks, inodes);
    strcpy(tier.home, unit_directory("home"));
    unit_directory("home/tree");
    unit_directory("home/fill");
}

static struct stk_entry_draft begin(const char *text)
{
    struct stk_entry_draft draft;
    mode_t mask = umask(0777);
    ck_assert_int_eq(stk_entry_begin(&draft, &tier, strlen(text)), 0);
    umask(mask);
    ck_assert_int_eq(pwrite(draft.fd, text, strlen(text), 0), (ssize_t)strlen(text));
    return draft;
}

static const char *entry_of(const char *below)
{
    static char path[STK_PATH_BYTES];
    ck_assert(stk_entry_path(path, tier.home, &root, below, 7));
    return path;
}

START_TEST(publishes)
{
    make_tier(1000, 1000, true);
    struct stk_entry_draft draft = begin("hello");
    ck_assert_uint_eq(unit_stat(draft.path).st_mode, S_IFREG | 0400);
    ck_assert_int_eq(fcntl(draft.fd, F_GETFD), FD_CLOEXEC);
    mode_t mask = umask(0777);
    ck_assert_int_eq(stk_entry_publish(&draft, &tier, &root, entry_of("a/b/x")), 0);
    umask(mask);
    ck_assert(unit_has_text(entry_of("a/b/x"), "hello"));
    ck_assert_uint_eq(unit_stat(entry_of("a/b/x")).st_mode, S_IFREG | 0400);
    ck_assert(!unit_exists(draft.path));
    ck_assert(
        unit_has_text(unit_path("home/tree/ext4@0123456789abcdef/data/set/;origin"), "/data/set"));
    ck_assert_uint_eq(unit_stat(unit_path("home/tree/ext4@0123456789abcdef/data/set/a")).st_mode,
                      S_IFDIR | 0700);
}
END_TEST

START_TEST(directories_are_charged)
{
    make_tier(1000, 1000, true);
    struct stk_entry_draft draft = begin("hello");
    ck_assert_int_eq(stk_entry_publish(&draft, &tier, &root, entry_of("a/b/x")), 0);
    ck_assert_int_eq(atomic_load(&shared.budget.used_inodes),
                     6); /* volume, data, set, a, b; note */
    ck_assert_int_eq(atomic_load(&shared.budget.used_blocks), 8); /* the note; tmpfs: no more */
    draft = begin("hello");
    ck_assert_int_eq(stk_entry_publish(&draft, &tier, &root, entry_of("a/b/y")), 0);
    ck_assert_int_eq(atomic_load(&shared.budget.used_inodes), 6);
    draft = begin("hello");
    ck_assert_int_eq(stk_entry_publish(&draft, &tier, &root, entry_of("a/c/y")), 0);
    ck_assert_int_eq(atomic_load(&shared.budget.used_inodes), 7);
    ck_assert_int_eq(atomic_load(&shared.budget.used_blocks), 8);
}
END_TEST

/* A nested root may have made the directory of this one. */
START_TEST(a_root_is_noted_in_a_directory_that_is_there)
{
    make_tier(1000, 1000, true);
    unit_directory("home/tree/ext4@0123456789abcdef");
    unit_directory("home/tree/ext4@0123456789abcdef/data");
    unit_directory("home/tree/ext4@0123456789abcdef/data/set");
    struct stk_entry_draft draft = begin("hello");
    ck_assert_int_eq(stk_entry_publish(&draft, &tier, &root, entry_of("x")), 0);
    const char *note = unit_path("home/tree/ext4@0123456789abcdef/data/set/;origin");
    ck_assert(unit_has_text(note, "/data/set"));
    ck_assert_int_eq(unlink(note), 0);
    draft = begin("hello");
    ck_assert_int_eq(stk_entry_publish(&draft, &tier, &root, entry_of("y")), 0);
    ck_assert(!unit_exists(note)); /* once in a process is enough */
    draft = begin("hello");
    ck_assert_int_eq(stk_entry_publish(&draft, &tier, &root, entry_of("a/y")), 0);
    ck_assert(unit_exists(note)); /* unless directories had to be made again */
}
END_TEST

START_TEST(directories_take_blocks_on_disks)
{
    make_tier(1000, 1000, false);
    struct stk_entry_draft draft = begin("hello");
    ck_assert_int_eq(stk_entry_publish(&draft, &tier, &root, entry_of("a/b/x")), 0);
    ck_assert_int_eq(atomic_load(&shared.budget.used_blocks), 6 * 8);
}
END_TEST

START_TEST(no_budget_for_directories)
{
    make_tier(1000, 2, true);
    struct stk_entry_draft draft = begin("hello");
    ck_assert_int_eq(stk_entry_publish(&draft, &tier, &root, entry_of("a/b/x")), -EDQUOT);
    ck_assert(!unit_exists(draft.path));
    ck_assert_int_eq(draft.fd, -1);
    ck_assert(!unit_exists(entry_of("a/b/x")));
    ck_assert_int_le(atomic_load(&shared.budget.used_inodes), 2);
}
END_TEST

START_TEST(what_is_there_stays)
{
    make_tier(1000, 1000, true);
    struct stk_entry_draft first = begin("first"), second = begin("second");
    ck_assert_str_ne(first.path, second.path);
    ck_assert_int_eq(stk_entry_publish(&first, &tier, &root, entry_of("x")), 0);
    ck_assert_int_eq(stk_entry_publish(&second, &tier, &root, entry_of("x")), -EEXIST);
    ck_assert(unit_has_text(entry_of("x"), "first"));
    ck_assert(!unit_exists(second.path));
    ck_assert_int_eq(second.fd, -1);
}
END_TEST

START_TEST(discards)
{
    make_tier(1000, 1000, true);
    struct stk_entry_draft draft = begin("hello");
    stk_entry_discard(&draft);
    ck_assert(!unit_exists(draft.path));
    ck_assert_int_eq(draft.fd, -1);
    ck_assert(!draft.removed);
    draft = begin("hello");
    ck_assert_int_eq(unlink(draft.path), 0);
    stk_entry_discard(&draft);
    ck_assert(draft.removed);
}
END_TEST

static rlim_t set_descriptors(rlim_t limit)
{
    struct rlimit old, new;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
    new = old;
    new.rlim_cur = limit;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &new), 0);
    return old.rlim_cur;
}

/* A draft's number is high: the program's next open does not get it, nor does the next draft. */
START_TEST(numbers_are_out_of_the_way)
{
    UNIT_NEEDS_PRIVATE();
    make_tier(1000, 1000, true);
    rlim_t old = set_descriptors(1024);
    int lowest = dup(0);
    close(lowest);
    struct stk_entry_draft first = begin("hello");
    ck_assert_int_ge(first.fd, 512);
    ck_assert_int_eq(fcntl(first.fd, F_GETFD), FD_CLOEXEC);
    ck_assert_int_eq(dup(0), lowest);
    int number = first.fd;
    stk_entry_close(&first);
    struct stk_entry_draft second = begin("hello");
    ck_assert_int_eq(second.fd, number + 1);
    stk_entry_close(&second);
    set_descriptors(40);
    struct stk_entry_draft third = begin("hello");
    ck_assert_int_ge(third.fd, 20);
    stk_entry_close(&third);
    set_descriptors((rlim_t)lowest + 2); /* what is left is low */
    struct stk_entry_draft last = begin("hello");
    ck_assert_int_ge(last.fd, lowest);
    ck_assert(stk_entry_holds(&last));
    stk_entry_close(&last);
    set_descriptors(old);
}
END_TEST

/* A thread that looked at its descriptor before another thread closed it may write behind that. */
START_TEST(a_closed_number_is_not_the_next_drafts)
{
    UNIT_NEEDS_PRIVATE();
    make_tier(1000, 1000, true);
    rlim_t old = set_descriptors(1024);
    struct stk_entry_draft first = begin("first");
    int number = first.fd;
    close(number);
    for (int i = 0; i < 600; i++) { /* twice as many as there are turns */
        struct stk_entry_draft next = begin("next");
        ck_assert_int_ne(next.fd, number);
        stk_entry_discard(&next);
    }
    stk_entry_discard(&first);
    bool again = false;
    for (int i = 0; i < 600; i++) {
        struct stk_entry_draft next = begin("next");
        again = again || next.fd == number;
        stk_entry_discard(&next);
    }
    ck_assert(again);
    set_descriptors(old);
}
END_TEST

/* Returns 0 if the draft has the number that open() gave, and no other is to be had. */
static int begin_alone(void *context)
{
    (void)context;
    int lowest = dup(0);
    close(lowest);
    stk_own_number_begin_alone();
    struct stk_entry_draft draft = begin("alone");
    bool low = draft.fd == lowest && !draft.own && stk_own_number_take(0) == -EALREADY;
    stk_entry_discard(&draft);
    return low && dup(0) == lowest ? 0 : 1;
}

START_TEST(where_no_other_code_runs_numbers_are_low)
{
    make_tier(1000, 1000, true);
    ck_assert_int_eq(unit_in_child(begin_alone, NULL), 0);
}
END_TEST

struct watched_number {
    int number;
    _Atomic bool over, used;
};

static void *watch_number(void *context)
{
    struct watched_number *watched = context;
    while (!atomic_load(&watched->over)) {
        if (fcntl(watched->number, F_GETFD) >= 0) {
            atomic_store(&watched->used, true);
        }
    }
    return NULL;
}

/* Its owner may be about to write to it. */
START_TEST(a_closed_number_is_no_other_drafts_for_a_moment)
{
    pthread_t thread;
    UNIT_NEEDS_PRIVATE();
    make_tier(1000, 1000, true);
    rlim_t old = set_descriptors(1024);
    struct stk_entry_draft first = begin("first"), next = begin("next");
    struct watched_number watched = {.number = first.fd};
    close(first.fd);
    ck_assert_int_eq(pthread_create(&thread, NULL, watch_number, &watched), 0);
    for (int i = 0; i < 100000; i++) {
        struct stk_entry_draft moved = next;
        moved.fd = dup(next.fd);
        moved.own = false;
        ck_assert_int_eq(stk_entry_move_up(&moved), 0);
        stk_entry_close(&moved);
    }
    atomic_store(&watched.over, true);
    pthread_join(thread, NULL);
    ck_assert(!atomic_load(&watched.used));
    stk_entry_discard(&next);
    stk_entry_discard(&first);
    set_descriptors(old);
}
END_TEST

START_TEST(no_room_for_a_draft)
{
    UNIT_NEEDS_PRIVATE();
    struct stk_entry_draft draft;
    static const char bytes[1 << 20];
    make_tier(1000, 1000, false);
    unit_mount_tmpfs(tier.home, "size=64k,mode=700");
    unit_mount_tmpfs(unit_directory("home/fill"), "size=64k,mode=700");
    ck_assert_int_eq(stk_entry_begin(&draft, &tier, sizeof bytes), -ENOSPC);
    ck_assert_int_eq(stk_entry_begin(&draft, &tier, 4096), 0);
    stk_entry_discard(&draft);
    shared.memory = true;
    ck_assert_int_eq(stk_entry_begin(&draft, &tier, sizeof bytes), 0);
    ck_assert_int_eq(stk_entry_write(&draft, bytes, sizeof bytes, 0), -ENOSPC);
    stk_entry_discard(&draft);
    shared.memory = false;
    strcpy(tier.home, unit_path("none"));
    ck_assert_int_eq(stk_entry_begin(&draft, &tier, 4096), -ENOENT);
}
END_TEST

START_TEST(a_draft_has_one_owner)
{
    make_tier(1000, 1000, true);
    struct stk_entry_draft draft = begin("hello");
    ck_assert_int_eq(link(draft.path, unit_path("another")), 0);
    stk_entry_holds(&draft);
}
END_TEST

Suite *suite_entry(void)
{
    Suite *suite = suite_create("entry");
    TCase *owner = unit_case(suite, "entry_invariants");
    tcase_add_test_raise_signal(owner, a_draft_has_one_owner, SIGABRT);
    TCase *names = unit_case(suite, "entry_names");
    tcase_add_test(names, paths);
    tcase_add_test(names, there_and_back);
    tcase_add_test(names, no_entries);
    TCase *publish = unit_case(suite, "entry_publish");
    tcase_add_test(publish, publishes);
    tcase_add_test(publish, directories_are_charged);
    tcase_add_test(publish, a_root_is_noted_in_a_directory_that_is_there);
    tcase_add_test(publish, directories_take_blocks_on_disks);
    tcase_add_test(publish, no_budget_for_directories);
    tcase_add_test(publish, what_is_there_stays);
    tcase_add_test(publish, discards);
    tcase_add_test(publish, numbers_are_out_of_the_way);
    tcase_add_test(publish, a_closed_number_is_not_the_next_drafts);
    tcase_add_test(publish, where_no_other_code_runs_numbers_are_low);
    tcase_add_test(publish, a_closed_number_is_no_other_drafts_for_a_moment);
    tcase_add_test(publish, no_room_for_a_draft);
    return suite;
}
