/* cache/catalogue/claim.c */
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cache/catalogue/claim.h"

#define MS (STK_NS_PER_S / 1000)

static _Atomic uint64_t *shared_word(struct stk_claim claim)
{
    _Atomic uint64_t *word =
        mmap(NULL, sizeof *word, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(word, MAP_FAILED);
    atomic_store(word, stk_claim_pack(claim));
    return word;
}

START_TEST(packs_and_unpacks)
{
    for (uint64_t i = 0; i < 4096; i++) {
        uint64_t word = (i & 0xff) | (i * 0x9e3779b97f4a7c15) << 8;
        ck_assert_uint_eq(stk_claim_pack(stk_claim_unpack(word)), word);
    }
    struct stk_claim claim = stk_claim_unpack(
        stk_claim_pack((struct stk_claim){STK_REFUSED, STK_LEAF_LINK, 7, 4194303, UINT32_MAX}));
    ck_assert_int_eq(claim.state, STK_REFUSED);
    ck_assert_int_eq(claim.leaf, STK_LEAF_LINK);
    ck_assert_uint_eq(claim.tier, 7);
    ck_assert_int_eq(claim.pid, 4194303);
    ck_assert_uint_eq(claim.detail, UINT32_MAX);
    claim = stk_claim_unpack(0);
    ck_assert(claim.state == STK_ABSENT && claim.leaf == STK_LEAF_UNKNOWN);
}
END_TEST

START_TEST(a_fill_from_take_to_finish)
{
    _Atomic uint64_t *word = shared_word((struct stk_claim){.leaf = STK_LEAF_LINK});
    ck_assert(!stk_claim_advance(word));
    ck_assert(!stk_claim_finish(word, STK_PRESENT, 1, 0));
    struct stk_claim seen = stk_claim_load(word);
    ck_assert(stk_claim_take(word, seen));
    ck_assert(!stk_claim_take(word, seen));
    struct stk_claim claim = stk_claim_load(word);
    ck_assert(claim.state == STK_FILLING && claim.pid == getpid());
    ck_assert_uint_eq(claim.detail, stk_claim_first(0));
    ck_assert(stk_claim_advance(word));
    ck_assert(stk_claim_advance(word));
    ck_assert_uint_eq(stk_claim_load(word).detail, stk_claim_first(2));
    ck_assert(stk_claim_finish(word, STK_PRESENT, 3, 9));
    claim = stk_claim_load(word);
    ck_assert(claim.state == STK_PRESENT && claim.tier == 3 && claim.detail == 9);
    ck_assert(claim.leaf == STK_LEAF_LINK && claim.pid == 0);
    ck_assert(!stk_claim_advance(word));
    ck_assert(!stk_claim_finish(word, STK_ABSENT, 0, 0));
}
END_TEST

static int take_over(void *context)
{
    _Atomic uint64_t *word = context;
    return stk_claim_take(word, stk_claim_load(word)) ? 0 : 1;
}

START_TEST(overtaken)
{
    _Atomic uint64_t *word = shared_word((struct stk_claim){.state = STK_ABSENT});
    ck_assert(stk_claim_take(word, stk_claim_load(word)));
    ck_assert_int_eq(unit_in_child(take_over, word), 0);
    ck_assert(!stk_claim_advance(word));
    ck_assert(!stk_claim_finish(word, STK_PRESENT, 0, 0));
    ck_assert_int_eq(stk_claim_load(word).state, STK_FILLING);
}
END_TEST

START_TEST(leaf)
{
    _Atomic uint64_t *word = shared_word((struct stk_claim){.detail = 5});
    stk_claim_set_leaf(word, STK_LEAF_PLAIN);
    stk_claim_set_leaf(word, STK_LEAF_PLAIN);
    ck_assert_int_eq(stk_claim_load(word).leaf, STK_LEAF_PLAIN);
    stk_claim_set_leaf(word, STK_LEAF_LINK);
    struct stk_claim claim = stk_claim_load(word);
    ck_assert(claim.leaf == STK_LEAF_LINK && claim.detail == 5);
}
END_TEST

static void *flip_leaf(void *context)
{
    _Atomic uint64_t *word = context;
    for (int i = 0; i < 200000; i++) {
        stk_claim_set_leaf(word, i % 2 == 0 ? STK_LEAF_PLAIN : STK_LEAF_LINK);
    }
    return NULL;
}

/* A process that only notes something about the leaf has not overtaken the holder. */
START_TEST(advances_beside_other_changes)
{
    pthread_t thread;
    _Atomic uint64_t *word = shared_word((struct stk_claim){.state = STK_ABSENT});
    ck_assert(stk_claim_take(word, stk_claim_load(word)));
    ck_assert_int_eq(pthread_create(&thread, NULL, flip_leaf, word), 0);
    for (int i = 0; i < 200000; i++) {
        ck_assert(stk_claim_advance(word));
    }
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_uint_eq(stk_claim_load(word).detail, stk_claim_first(200000));
}
END_TEST

/* How long a wait takes; whether it ended by itself goes to `over`. */
static int64_t wait_ns(_Atomic uint64_t *word, bool *over)
{
    int64_t before = stk_clock_boottime_ns();
    *over = stk_claim_wait(word);
    return stk_clock_boottime_ns() - before;
}

/* The shortest of some waits, which goes below `short_ns` unless something is wrong: on a busy
 * machine any one of them may be long. All end by themselves, or in none has the filler got on, and
 * what it does from now on is not noticed by anybody. */
static int64_t shortest_wait_ns(struct stk_claim claim, bool wanted, int64_t short_ns)
{
    bool over;
    int64_t shortest_ns = INT64_MAX;
    for (int i = 0; i < 10 && shortest_ns >= short_ns; i++) {
        _Atomic uint64_t *word = shared_word(claim);
        int64_t waited_ns = wait_ns(word, &over);
        ck_assert_int_eq(over, wanted);
        shortest_ns = waited_ns < shortest_ns ? waited_ns : shortest_ns;
        ck_assert(over || (!stk_claim_advance(word) && stk_claim_take(word, stk_claim_load(word))));
    }
    return shortest_ns;
}

START_TEST(waits_for_nobody)
{
    struct stk_claim there = {.state = STK_PRESENT};
    ck_assert_int_lt(shortest_wait_ns(there, true, 100 * MS), 100 * MS);
}
END_TEST

START_TEST(a_dead_filler_is_overtaken_at_once)
{
    struct stk_claim dead = {.state = STK_FILLING, .pid = unit_dead_pid()};
    ck_assert_int_lt(shortest_wait_ns(dead, false, 100 * MS), 100 * MS);
}
END_TEST

/* One that was killed, and that its parent has not waited for. */
START_TEST(a_zombie_is_dead)
{
    siginfo_t ended;
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        _exit(0);
    }
    ck_assert_int_eq(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
    struct stk_claim zombie = {.state = STK_FILLING, .pid = pid};
    ck_assert_int_lt(shortest_wait_ns(zombie, false, 1000 * MS), 1000 * MS);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

START_TEST(a_stuck_filler_after_two_seconds)
{
    struct stk_claim stuck = {.state = STK_FILLING, .pid = getpid()};
    int64_t waited = shortest_wait_ns(stuck, false, 3000 * MS);
    ck_assert_int_ge(waited, 2000 * MS);
    ck_assert_int_lt(waited, 3000 * MS);
}
END_TEST

/* Fills until three seconds after `began_ns`, a step every 100 ms. */
static void fill_slowly(_Atomic uint64_t *word, _Atomic uint64_t *began_ns)
{
    bool mine = stk_claim_take(word, stk_claim_load(word));
    while (mine && stk_clock_boottime_ns() - (int64_t)atomic_load(began_ns) < 3000 * MS) {
        usleep(100000);
        mine = stk_claim_advance(word);
    }
    _exit(mine && stk_claim_finish(word, STK_PRESENT, 2, 0) ? 0 : 1);
}

START_TEST(a_live_filler_goes_on)
{
    int status;
    _Atomic uint64_t *word = shared_word((struct stk_claim){.state = STK_ABSENT});
    _Atomic uint64_t *began_ns = shared_word((struct stk_claim){.state = STK_ABSENT});
    atomic_store(began_ns, INT64_MAX);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        fill_slowly(word, began_ns);
    }
    UNIT_WAIT_UNTIL(stk_claim_load(word).state == STK_FILLING);
    atomic_store(began_ns, (uint64_t)stk_clock_boottime_ns());
    ck_assert(stk_claim_wait(word));
    ck_assert_int_ge(stk_clock_boottime_ns() - (int64_t)atomic_load(began_ns), 2500 * MS);
    ck_assert_int_eq(stk_claim_load(word).state, STK_PRESENT);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}
END_TEST

/* A filling by a process that has this number in another pid namespace. */
static struct stk_claim claim_of_elsewhere(pid_t pid)
{
    uint32_t another = (stk_claim_first(0) >> 24) % 255 + 1;
    return (struct stk_claim){.state = STK_FILLING, .pid = pid, .detail = another << 24};
}

static void *fill_elsewhere(void *context)
{
    _Atomic uint64_t *word = context;
    struct stk_claim seen = stk_claim_load(word), next = seen;
    for (int i = 0; i < 5; i++) {
        usleep(100000);
        next.detail = stk_claim_next(seen.detail);
        ck_assert(stk_claim_change(word, seen, next));
        seen = next;
    }
    next.state = STK_PRESENT;
    ck_assert(stk_claim_change(word, seen, next));
    return NULL;
}

/* The filler's number means no process here, or another one: it shows nothing about the filler. */
START_TEST(a_filler_of_another_namespace)
{
    bool over;
    pthread_t thread;
    _Atomic uint64_t *word = shared_word(claim_of_elsewhere(unit_dead_pid()));
    ck_assert(!stk_claim_is_dead(stk_claim_load(word)));
    ck_assert_int_eq(pthread_create(&thread, NULL, fill_elsewhere, word), 0);
    ck_assert_int_ge(wait_ns(word, &over), 300 * MS);
    ck_assert(over && stk_claim_load(word).state == STK_PRESENT);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    atomic_store(word, stk_claim_pack(claim_of_elsewhere(getpid())));
    ck_assert(!stk_claim_advance(word) && !stk_claim_finish(word, STK_ABSENT, 0, 0));
    ck_assert_int_ge(wait_ns(word, &over), 2000 * MS); /* as one that is stuck */
    ck_assert(!over);
}
END_TEST

START_TEST(progress_stays_below_the_namespace)
{
    uint32_t last = stk_claim_first(UINT32_MAX);
    ck_assert_uint_eq(stk_claim_next(last), stk_claim_first(0));
    ck_assert_uint_eq(stk_claim_next(stk_claim_first(7)), stk_claim_first(8));
    ck_assert_uint_eq(stk_claim_first(0) >> 24 != 0, access("/proc/self/ns/pid", F_OK) == 0);
}
END_TEST

/* Waits, takes the claim if it had to be abandoned, and says so by its exit status. */
static int wait_and_take(void *context)
{
    _Atomic uint64_t *word = context;
    for (;;) {
        stk_claim_wait(word);
        struct stk_claim seen = stk_claim_load(word);
        if (seen.state == STK_PRESENT) {
            return 0;
        }
        if (seen.state == STK_ABSENT && stk_claim_take(word, seen)) {
            usleep(200000);
            return stk_claim_finish(word, STK_PRESENT, 0, 0) ? 1 : 2;
        }
    }
}

/* Among many waiters for a dead filler, one takes its place. The rest wait for that one. */
START_TEST(one_overtakes)
{
    int status, fillers = 0;
    _Atomic uint64_t *word =
        shared_word((struct stk_claim){.state = STK_FILLING, .pid = unit_dead_pid()});
    for (int i = 0; i < 8; i++) {
        pid_t pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
            _exit(wait_and_take(word));
        }
    }
    for (int i = 0; i < 8; i++) {
        ck_assert_int_gt(wait(&status), 0);
        ck_assert(WIFEXITED(status));
        ck_assert_int_le(WEXITSTATUS(status), 1);
        fillers += WEXITSTATUS(status);
    }
    ck_assert_int_eq(fillers, 1);
}
END_TEST

Suite *suite_claim(void)
{
    Suite *suite = suite_create("claim");
    TCase *word = unit_case(suite, "claim_word");
    tcase_add_test(word, packs_and_unpacks);
    tcase_add_test(word, a_fill_from_take_to_finish);
    tcase_add_test(word, overtaken);
    tcase_add_test(word, leaf);
    tcase_add_test(word, advances_beside_other_changes);
    TCase *wait = unit_case(suite, "claim_wait");
    tcase_add_test(wait, waits_for_nobody);
    tcase_add_test(wait, a_dead_filler_is_overtaken_at_once);
    tcase_add_test(wait, a_zombie_is_dead);
    tcase_add_test(wait, a_stuck_filler_after_two_seconds);
    tcase_add_test(wait, a_live_filler_goes_on);
    tcase_add_test(wait, a_filler_of_another_namespace);
    tcase_add_test(wait, progress_stays_below_the_namespace);
    tcase_add_test(wait, one_overtakes);
    return suite;
}
