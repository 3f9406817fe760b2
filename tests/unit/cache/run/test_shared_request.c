/* cache/run/shared_request.c */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cache/catalogue/claim.h"
#include "cache/origin/entry_name.h"
#include "cache/run/shared_request.h"
#include "tests/unit/unit.h"

static struct stk_shared_requests requests;
static _Atomic uint64_t claim;
static uint64_t check;

static void begin(void)
{
    memset(&requests, 0, sizeof requests);
    check = 0;
    atomic_store(&claim, stk_claim_pack((struct stk_claim){.state = STK_ABSENT}));
    ck_assert(stk_claim_take(&claim, stk_claim_load(&claim)));
    stk_shared_requests_open(&requests);
}

static struct stk_shared_request_spec wish_of(enum stk_shared_request_kind kind, const char *path)
{
    struct stk_shared_request_spec spec = {.kind = kind, .bytes = 5};
    strcpy(spec.path, path);
    return spec;
}

static enum stk_shared_request_answer ask(enum stk_shared_request_kind kind, const char *path)
{
    struct stk_shared_request_spec spec = wish_of(kind, path);
    int64_t waited_ns = 0;
    return stk_shared_request_ask(&requests, &spec, &claim, &waited_ns, &check);
}

/* Answers what is asked: "yes", "damaged", and no to everything else; "never" not at all. */
static void *answer_all(void *context)
{
    struct stk_shared_request_taken taken;
    while (stk_shared_request_take(&requests, false, &taken)) {
        const char *path = taken.spec.path;
        if (strcmp(path, "never") != 0) {
            stk_shared_request_answer(&taken,
                                      strcmp(path, "yes") == 0       ? STK_SHARED_REQUEST_YES
                                      : strcmp(path, "damaged") == 0 ? STK_SHARED_REQUEST_DAMAGED
                                                                     : STK_SHARED_REQUEST_NO,
                                      77);
        } else {
            *(struct stk_shared_request_taken *)context = taken;
        }
    }
    return NULL;
}

START_TEST(what_is_asked_is_answered)
{
    pthread_t thread;
    begin();
    ck_assert_int_eq(pthread_create(&thread, NULL, answer_all, NULL), 0);
    for (int i = 0; i < 3 * STK_SHARED_REQUEST_SLOTS; i++) {
        ck_assert_int_eq(ask(STK_SHARED_REQUEST_LOOK, "no"), STK_SHARED_REQUEST_NO);
        ck_assert_int_eq(ask(STK_SHARED_REQUEST_FETCH, "yes"), STK_SHARED_REQUEST_YES);
        ck_assert_uint_eq(check, 77);
        ck_assert_int_eq(ask(STK_SHARED_REQUEST_FETCH, "damaged"), STK_SHARED_REQUEST_DAMAGED);
    }
    stk_shared_requests_close(&requests);
    pthread_join(thread, NULL);
}
END_TEST

static uint64_t dropped(void)
{
    return atomic_load(&requests.counts[STK_SHARED_REQUESTS_DROPPED]);
}

START_TEST(nothing_is_asked_of_nobody)
{
    struct stk_shared_request_spec spec = wish_of(STK_SHARED_REQUEST_PUBLISH, "a");
    memset(&requests, 0, sizeof requests);
    ck_assert(!stk_shared_requests_are_open(NULL) && !stk_shared_requests_are_open(&requests));
    ck_assert_int_eq(ask(STK_SHARED_REQUEST_LOOK, "yes"), STK_SHARED_REQUEST_NO);
    stk_shared_request_queue(&requests, &spec);
    ck_assert_uint_eq(dropped(), 1);
    stk_shared_requests_close(&requests);
    stk_shared_requests_open(&requests); /* too late */
    stk_shared_requests_resume(&requests);
    ck_assert(!stk_shared_requests_are_open(&requests));
}
END_TEST

/* The process that asks waits once. A late answer is dropped. */
START_TEST(a_deadline_that_is_missed)
{
    pthread_t thread;
    struct stk_shared_request_taken late = {.request = NULL};
    begin();
    ck_assert_int_eq(pthread_create(&thread, NULL, answer_all, &late), 0);
    int64_t began_ns = stk_clock_boottime_ns();
    ck_assert_int_eq(ask(STK_SHARED_REQUEST_FETCH, "never"), STK_SHARED_REQUEST_NO);
    ck_assert_int_ge(stk_clock_boottime_ns() - began_ns, 2 * STK_NS_PER_S);
    ck_assert_uint_eq(atomic_load(&requests.state), STK_SHARED_REQUESTS_LATE);
    ck_assert_int_eq(ask(STK_SHARED_REQUEST_FETCH, "yes"), STK_SHARED_REQUEST_NO);
    stk_shared_requests_resume(&requests);
    ck_assert_int_eq(ask(STK_SHARED_REQUEST_FETCH, "yes"), STK_SHARED_REQUEST_YES);
    stk_shared_requests_close(&requests);
    pthread_join(thread, NULL);
    ck_assert_int_eq(stk_claim_load(&claim).state, STK_FILLING); /* kept alive meanwhile */
    stk_shared_request_answer(&late, STK_SHARED_REQUEST_YES, 1);
    ck_assert_uint_eq(atomic_load(&late.request->state) % 8, 0);
}
END_TEST

/* The next request of a fill gets the time that the one before has left. */
START_TEST(a_fill_has_one_deadline)
{
    struct stk_shared_request_spec spec = wish_of(STK_SHARED_REQUEST_LOOK, "never");
    int64_t waited_ns = 19 * STK_NS_PER_S / 10;
    begin();
    int64_t began_ns = stk_clock_boottime_ns();
    ck_assert_int_eq(stk_shared_request_ask(&requests, &spec, &claim, &waited_ns, &check),
                     STK_SHARED_REQUEST_NO);
    ck_assert_int_lt(stk_clock_boottime_ns() - began_ns, 2 * STK_NS_PER_S);
    ck_assert_int_ge(waited_ns, 2 * STK_NS_PER_S);
    ck_assert(stk_shared_requests_are_paused(&requests));
}
END_TEST

struct shared {
    struct stk_shared_requests requests;
    _Atomic uint64_t claim;
};

static void ask_in(struct shared *shared)
{
    struct stk_shared_request_spec spec = wish_of(STK_SHARED_REQUEST_FETCH, "yes");
    ck_assert(stk_claim_take(&shared->claim, stk_claim_load(&shared->claim)));
    int64_t waited_ns = 0;
    _exit(stk_shared_request_ask(&shared->requests, &spec, &shared->claim, &waited_ns, &check));
}

/* Starts a process that asks, and stops it while it waits. */
static pid_t start_waiting(struct shared *shared, struct stk_shared_request_taken *taken)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        ask_in(shared);
    }
    ck_assert(stk_shared_request_take(&shared->requests, false, taken));
    ck_assert(kill(pid, SIGSTOP) == 0 && waitpid(pid, &status, WUNTRACED) == pid);
    return pid;
}

/* Starts a process that asks, and stops it before it waits: in the call that wakes the taker. */
static pid_t start_waking(struct shared *shared, struct stk_shared_request_taken *taken)
{
    int status;
    atomic_store(&shared->requests.idle[0], 1);
    pid_t pid = fork();
    if (pid == 0) {
        ck_assert_int_eq(ptrace(PTRACE_TRACEME, 0, NULL, NULL), 0);
        raise(SIGSTOP);
        ask_in(shared);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    while (atomic_load(&shared->requests.queued[0]) == 0) {
        ck_assert_int_eq(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
        ck_assert(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
    }
    ck_assert(stk_shared_request_take(&shared->requests, false, taken));
    return pid;
}

/* Returns true if a process that was stopped beyond its time still took the answer. */
static bool takes_answer_after_stop(struct shared *shared, bool before_it_waits)
{
    struct stk_shared_request_taken taken;
    int status;
    atomic_store(&shared->claim, stk_claim_pack((struct stk_claim){.state = STK_ABSENT}));
    stk_shared_requests_open(&shared->requests);
    pid_t pid = before_it_waits ? start_waking(shared, &taken) : start_waiting(shared, &taken);
    UNIT_WAIT_UNTIL(stk_clock_boottime_ns() > atomic_load(&taken.request->until_ns));
    uint64_t seen = atomic_load(&shared->claim);
    ck_assert_int_eq(before_it_waits ? ptrace(PTRACE_DETACH, pid, NULL, NULL) : kill(pid, SIGCONT),
                     0);
    UNIT_WAIT_UNTIL(!stk_shared_requests_are_open(&shared->requests) ||
                    atomic_load(&shared->claim) != seen);
    stk_shared_request_answer(&taken, STK_SHARED_REQUEST_YES, 77);
    ck_assert(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status) == STK_SHARED_REQUEST_YES &&
           stk_shared_requests_are_open(&shared->requests);
}

/* A scheduler may stop a job for as long as it likes: the server has not been slow for that. On a
 * busy machine the asker may have been late by itself. */
START_TEST(who_was_stopped_meanwhile)
{
    bool takes = false;
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(shared, MAP_FAILED);
    for (int i = 0; i < 4 && !takes; i++) {
        memset(shared, 0, sizeof *shared);
        takes = takes_answer_after_stop(shared, _i == 1);
    }
    ck_assert(takes);
    munmap(shared, sizeof *shared);
}
END_TEST

#define STOPS 6

/* Stops a process that waits in vain, again and again. Returns true if it has given up by then. */
static bool gives_up_between_stops(pid_t pid)
{
    bool ended = false;
    for (int i = 0; i < STOPS && !ended; i++) {
        kill(pid, SIGSTOP);
        usleep(1500000);
        kill(pid, SIGCONT);
        usleep(200000);
        ended = waitpid(pid, NULL, WNOHANG) == pid;
    }
    return ended;
}

/* A busy machine looks like many stops. One of them does not count, so the wait has a bound. */
START_TEST(stopped_again_and_again)
{
    struct stk_shared_request_taken taken;
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(shared, MAP_FAILED);
    atomic_store(&shared->claim, stk_claim_pack((struct stk_claim){.state = STK_ABSENT}));
    stk_shared_requests_open(&shared->requests);
    pid_t pid = fork();
    if (pid == 0) {
        ask_in(shared);
    }
    ck_assert(stk_shared_request_take(&shared->requests, false, &taken));
    ck_assert(gives_up_between_stops(pid));
    ck_assert(stk_shared_requests_are_paused(&shared->requests));
    munmap(shared, sizeof *shared);
}
END_TEST

/* An open that has begun before a pause asks nothing, even after it. */
START_TEST(open_since_a_pause)
{
    begin();
    int64_t before_ns = stk_clock_boottime_ns();
    ck_assert(stk_shared_requests_are_open_since(&requests, before_ns));
    stk_shared_requests_pause(&requests, STK_SHARED_REQUESTS_LATE);
    ck_assert(!stk_shared_requests_are_open_since(&requests, INT64_MAX));
    stk_shared_requests_resume(&requests);
    ck_assert(!stk_shared_requests_are_open_since(&requests, before_ns));
    ck_assert(stk_shared_requests_are_open_since(&requests, INT64_MAX));
}
END_TEST

START_TEST(a_claim_that_was_lost)
{
    begin();
    atomic_store(&claim, stk_claim_pack((struct stk_claim){.state = STK_ABSENT}));
    ck_assert_int_eq(ask(STK_SHARED_REQUEST_FETCH, "yes"), STK_SHARED_REQUEST_NO);
    ck_assert(stk_shared_requests_are_open(&requests));
}
END_TEST

/* A process that finds no place for a question waits for one, but not for long: it looks each 2 ms
 * for a second. How long that takes on a busy machine shows nothing. */
START_TEST(no_place_to_ask)
{
    begin();
    for (int i = 0; i < STK_SHARED_REQUEST_SLOTS; i++) {
        atomic_store(&requests.slots[i].state, 2); /* WAITING */
    }
    uint32_t before = atomic_load(&requests.next);
    ck_assert_int_eq(ask(STK_SHARED_REQUEST_LOOK, "yes"), STK_SHARED_REQUEST_NO);
    uint32_t looks = atomic_load(&requests.next) - before;
    ck_assert(looks > 1 && looks <= 502);
    ck_assert(stk_shared_requests_are_open(&requests)); /* no deadline was missed */
}
END_TEST

/* Frees a slot as soon as a search has found none. */
static void *free_one(void *context)
{
    while (atomic_load(&requests.next) == 0) {
        usleep(100);
    }
    atomic_store(&requests.slots[7].state, 0);
    return answer_all(context);
}

static enum stk_shared_request_answer ask_where_a_place_comes_late(void)
{
    pthread_t thread;
    begin();
    for (int i = 0; i < STK_SHARED_REQUEST_SLOTS; i++) {
        atomic_store(&requests.slots[i].state, 4); /* TAKEN */
    }
    ck_assert_int_eq(pthread_create(&thread, NULL, free_one, NULL), 0);
    enum stk_shared_request_answer answer = ask(STK_SHARED_REQUEST_LOOK, "yes");
    stk_shared_requests_close(&requests);
    pthread_join(thread, NULL);
    return answer;
}

/* It is waited for 1 s; on a busy machine the other thread may not come to free it so soon. */
START_TEST(a_place_to_ask_that_comes_late)
{
    enum stk_shared_request_answer answer = STK_SHARED_REQUEST_NO;
    for (int i = 0; i < 100 && answer == STK_SHARED_REQUEST_NO; i++) {
        answer = ask_where_a_place_comes_late();
    }
    ck_assert_int_eq(answer, STK_SHARED_REQUEST_YES);
}
END_TEST

/* A request that does not fit is counted. A request that is left when all is over is done.
 * Questions have places of their own. */
START_TEST(what_is_put)
{
    struct stk_shared_request_taken taken;
    pthread_t thread;
    char name[16];
    begin();
    for (int i = 0; i < STK_SHARED_REQUEST_PUTS + 3; i++) {
        snprintf(name, sizeof name, "%d", i);
        struct stk_shared_request_spec spec = wish_of(STK_SHARED_REQUEST_PUBLISH, name);
        stk_shared_request_queue(&requests, &spec);
        int without = i + 1 - STK_SHARED_REQUEST_PUTS;
        ck_assert_uint_eq(dropped(), (uint64_t)(without > 0 ? without : 0));
    }
    ck_assert_int_eq(pthread_create(&thread, NULL, answer_all, NULL), 0);
    ck_assert_int_eq(ask(STK_SHARED_REQUEST_LOOK, "yes"), STK_SHARED_REQUEST_YES);
    stk_shared_requests_close(&requests);
    pthread_join(thread, NULL);
    for (int i = 0; i < STK_SHARED_REQUEST_PUTS; i++) {
        ck_assert(stk_shared_request_take(&requests, true, &taken));
        ck_assert_uint_eq(taken.spec.bytes, 5);
        stk_shared_request_answer(&taken, STK_SHARED_REQUEST_NO, 0);
        ck_assert_uint_eq(atomic_load(&taken.request->state) % 8, 0);
    }
    ck_assert(!stk_shared_request_take(&requests, true, &taken));
    ck_assert(!stk_shared_request_take(&requests, false, &taken));
}
END_TEST

static void *add_many(void *context)
{
    struct stk_shared_request_spec spec = wish_of(STK_SHARED_REQUEST_PUBLISH, "swept");
    for (int i = 0; i < STK_SHARED_REQUEST_PUTS; i++) {
        stk_shared_request_add(&requests, &spec);
    }
    stk_shared_requests_end_sweeps(&requests);
    return context;
}

/* More than there are slots for is added when the run is over already. The takers wait for it. One
 * half of the slots stays free. */
START_TEST(what_is_added_at_the_end)
{
    struct stk_shared_request_taken taken;
    pthread_t thread;
    int count = 0;
    begin();
    atomic_store(&requests.sweeps, 1);
    stk_shared_requests_close(&requests);
    ck_assert_int_eq(pthread_create(&thread, NULL, add_many, NULL), 0);
    for (; stk_shared_request_take(&requests, true, &taken); count++) {
        ck_assert_int_lt(taken.request - requests.slots, STK_SHARED_REQUEST_PUTS / 2);
        stk_shared_request_answer(&taken, STK_SHARED_REQUEST_NO, 0);
    }
    pthread_join(thread, NULL);
    ck_assert_int_eq(count, STK_SHARED_REQUEST_PUTS);
    ck_assert_uint_eq(dropped(), 0);
}
END_TEST

/* A thread that adds does not wait for a server that was left alone. A queued request waits.
 */
START_TEST(nothing_is_added_in_a_pause)
{
    struct stk_shared_request_taken taken;
    struct stk_shared_request_spec spec = wish_of(STK_SHARED_REQUEST_PUBLISH, "before");
    begin();
    stk_shared_request_queue(&requests, &spec);
    stk_shared_requests_pause(&requests, STK_SHARED_REQUESTS_FAILED);
    stk_shared_requests_pause(&requests, STK_SHARED_REQUESTS_LATE);
    ck_assert_uint_eq(atomic_load(&requests.state), STK_SHARED_REQUESTS_FAILED);
    ck_assert_uint_eq(atomic_load(&requests.counts[STK_SHARED_REQUESTS_PAUSES]), 1);
    stk_shared_request_queue(&requests, &spec);
    ck_assert_uint_eq(dropped(), 1);
    add_many(NULL);
    stk_shared_requests_resume(&requests);
    ck_assert(stk_shared_request_take(&requests, true, &taken));
    ck_assert_str_eq(taken.spec.path, "before");
    ck_assert_int_eq(stk_shared_requests_close(&requests), STK_SHARED_REQUESTS_OPEN);
    ck_assert(!stk_shared_request_take(&requests, true, &taken));
}
END_TEST

static void *take_one(void *taken)
{
    ck_assert(stk_shared_request_take(&requests, true, taken));
    return NULL;
}

/* A taker waits for the end of a pause. */
START_TEST(a_taker_in_a_pause)
{
    struct stk_shared_request_taken taken;
    struct stk_shared_request_spec spec = wish_of(STK_SHARED_REQUEST_PUBLISH, "a");
    pthread_t thread;
    begin();
    stk_shared_request_queue(&requests, &spec);
    stk_shared_requests_pause(&requests, STK_SHARED_REQUESTS_LATE);
    ck_assert_int_eq(pthread_create(&thread, NULL, take_one, &taken), 0);
    UNIT_WAIT_UNTIL(atomic_load(&requests.idle[1]) == 1);
    ck_assert(stk_shared_request_is_queued(&requests, spec.tier, spec.ino));
    stk_shared_requests_resume(&requests);
    pthread_join(thread, NULL);
    ck_assert_str_eq(taken.spec.path, "a");
}
END_TEST

/* From when it is left to when it is done; and a question is nothing of the kind. */
START_TEST(what_is_left_to_be_put)
{
    struct stk_shared_request_taken taken;
    struct stk_shared_request_spec spec = wish_of(STK_SHARED_REQUEST_PUBLISH, "a");
    begin();
    spec.tier = 2;
    spec.ino = 77;
    ck_assert(!stk_shared_request_is_queued(&requests, 2, 77));
    stk_shared_request_queue(&requests, &spec);
    ck_assert(stk_shared_request_is_queued(&requests, 2, 77));
    ck_assert(!stk_shared_request_is_queued(&requests, 2, 78) &&
              !stk_shared_request_is_queued(&requests, 3, 77));
    ck_assert(stk_shared_request_take(&requests, true, &taken));
    ck_assert(stk_shared_request_is_queued(&requests, 2, 77));
    stk_shared_requests_count_left(&requests);
    ck_assert_uint_eq(dropped(), 1);
    stk_shared_request_answer(&taken, STK_SHARED_REQUEST_NO, 0);
    ck_assert(!stk_shared_request_is_queued(&requests, 2, 77));
    taken.request->spec.kind = STK_SHARED_REQUEST_FETCH;
    atomic_store(&taken.request->state, 4); /* TAKEN */
    ck_assert(!stk_shared_request_is_queued(&requests, 2, 77));
    stk_shared_requests_count_left(&requests);
    ck_assert_uint_eq(dropped(), 1);
}
END_TEST

START_TEST(whether_there_is_room)
{
    memset(&requests, 0, sizeof requests);
    ck_assert(!stk_shared_requests_have_room(&requests));
    begin();
    ck_assert(stk_shared_requests_have_room(&requests));
    stk_shared_requests_count(&requests, STK_SHARED_REQUESTS_FULL, 1);
    ck_assert(!stk_shared_requests_have_room(&requests));
}
END_TEST

START_TEST(names_below_a_tree)
{
    static char below[STK_PATH_BYTES];
    char path[STK_SHARED_REQUEST_PATH_BYTES];
    char name[] = "nfs4@0123456789abcdef/data";
    struct stk_root root = {.name = name, .name_length = strlen(name)};
    ck_assert(stk_entry_path_below_tree(path, sizeof path, &root, "a/b/leaf", 0xabc));
    ck_assert_str_eq(path, "nfs4@0123456789abcdef/data/a/b/000000000abc;leaf");
    memset(below, 'x', STK_SHARED_REQUEST_PATH_BYTES);
    ck_assert(!stk_entry_path_below_tree(path, sizeof path, &root, below, 0xabc));
}
END_TEST

Suite *suite_shared_request(void)
{
    Suite *suite = suite_create("shared_request");
    TCase *tcase = unit_case(suite, "requests");
    tcase_add_test(tcase, what_is_asked_is_answered);
    tcase_add_test(tcase, nothing_is_asked_of_nobody);
    tcase_add_test(tcase, a_deadline_that_is_missed);
    tcase_add_loop_test(tcase, who_was_stopped_meanwhile, 0, 2);
    tcase_add_test(tcase, a_fill_has_one_deadline);
    tcase_add_test(tcase, stopped_again_and_again);
    tcase_add_test(tcase, a_claim_that_was_lost);
    tcase_add_test(tcase, open_since_a_pause);
    tcase_add_test(tcase, no_place_to_ask);
    tcase_add_test(tcase, a_place_to_ask_that_comes_late);
    tcase_add_test(tcase, what_is_put);
    tcase_add_test(tcase, what_is_added_at_the_end);
    tcase_add_test(tcase, nothing_is_added_in_a_pause);
    tcase_add_test(tcase, a_taker_in_a_pause);
    tcase_add_test(tcase, what_is_left_to_be_put);
    tcase_add_test(tcase, whether_there_is_room);
    tcase_add_test(tcase, names_below_a_tree);
    return suite;
}
