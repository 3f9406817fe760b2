/* wrappers/python/core/feed/thread_pool.c */
#include "tests/unit/unit.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/clock.h"
#include "wrappers/python/core/feed/thread_pool.h"

#define TASKS 200

struct job {
    struct pool_task task;
    unsigned times;
    unsigned turn; /* when it was done, among all */
};

static struct job jobs[TASKS];
static _Atomic unsigned turns;
static _Atomic bool held; /* tasks wait as long as it is */
static _Atomic unsigned begun;

static void do_job(struct pool_task *task)
{
    struct job *job = (struct job *)task;
    atomic_fetch_add(&begun, 1);
    while (atomic_load(&held)) {
        usleep(100);
    }
    job->times++;
    job->turn = atomic_fetch_add(&turns, 1);
}

static struct thread_pool *new_pool_of(unsigned threads, unsigned at_once)
{
    int error;
    struct thread_pool *pool = thread_pool_new(threads, at_once, &error);
    ck_assert_ptr_nonnull(pool);
    return pool;
}

static struct thread_pool *new_pool(unsigned threads)
{
    return new_pool_of(threads, threads);
}

static void wait_for(struct thread_pool *pool, const struct pool_group *group)
{
    uint32_t ends = thread_pool_ends(pool);
    while (!thread_pool_has_ended(group)) {
        thread_pool_wait(pool, ends, 10 * STK_NS_PER_S);
        ends = thread_pool_ends(pool);
    }
}

static void add(struct thread_pool *pool, struct pool_group *group, enum pool_urgency urgency,
                int first, size_t count)
{
    thread_pool_add(pool, group, urgency, &jobs[first], count, sizeof jobs[0]);
}

START_TEST(each_task_is_done_once)
{
    struct thread_pool *pool = new_pool(4);
    struct pool_group group = {.work = do_job};
    for (unsigned round = 1; round <= 50; round++) {
        add(pool, &group, POOL_USUAL, 0, TASKS);
        wait_for(pool, &group);
        for (int i = 0; i < TASKS; i++) {
            ck_assert_uint_eq(jobs[i].times, round);
        }
        UNIT_WAIT_UNTIL(thread_pool_ends(pool) >= round); /* heard of a moment later */
    }
    ck_assert_uint_eq(thread_pool_ends(pool), 50);
    thread_pool_free(pool);
}
END_TEST

START_TEST(urgent_tasks_come_first_and_others_in_their_order)
{
    struct thread_pool *pool = new_pool(1);
    struct pool_group usual = {.work = do_job}, urgent = {.work = do_job};
    atomic_store(&held, true);
    add(pool, &usual, POOL_USUAL, 0, 10);
    UNIT_WAIT_UNTIL(atomic_load(&begun) >= 1);
    add(pool, &urgent, POOL_URGENT, 10, 10);
    atomic_store(&held, false);
    wait_for(pool, &usual);
    ck_assert(thread_pool_has_ended(&urgent));
    for (unsigned i = 0; i < 20; i++) {
        ck_assert_uint_eq(jobs[i].turn, i == 0 ? 0 : i < 10 ? 10 + i : i - 9);
    }
    thread_pool_free(pool);
}
END_TEST

static _Atomic unsigned now, most;

static void count_job(struct pool_task *task)
{
    unsigned count = atomic_fetch_add(&now, 1) + 1, before = atomic_load(&most);
    while (before < count && !atomic_compare_exchange_weak(&most, &before, count)) {
    }
    do_job(task);
    atomic_fetch_sub(&now, 1);
}

START_TEST(of_usual_tasks_no_more_are_done_at_once_than_was_said)
{
    struct thread_pool *pool = new_pool_of(4, 2);
    struct pool_group usual = {.work = count_job}, urgent = {.work = do_job};
    atomic_store(&held, true);
    add(pool, &usual, POOL_USUAL, 0, 150);
    UNIT_WAIT_UNTIL(atomic_load(&begun) >= 2);
    add(pool, &urgent, POOL_URGENT, 150, 50);
    UNIT_WAIT_UNTIL(atomic_load(&begun) >= 4); /* by the threads that have no other task */
    ck_assert_uint_eq(atomic_load(&now), 2);
    atomic_store(&held, false);
    wait_for(pool, &usual);
    wait_for(pool, &urgent);
    ck_assert_uint_eq(atomic_load(&most), 2);
    for (int i = 0; i < TASKS; i++) {
        ck_assert_uint_eq(jobs[i].times, 1);
    }
    thread_pool_free(pool);
}
END_TEST

static void *let_go_soon(void *unused)
{
    (void)unused;
    usleep(20000);
    atomic_store(&held, false);
    return NULL;
}

START_TEST(what_is_cancelled_has_not_begun_or_has_ended)
{
    struct thread_pool *pool = new_pool(3);
    struct pool_group group = {.work = do_job}, other = {.work = do_job};
    pthread_t thread;
    atomic_store(&held, true);
    add(pool, &group, POOL_URGENT, 0, 50);
    add(pool, &other, POOL_USUAL, 50, 50);
    UNIT_WAIT_UNTIL(atomic_load(&begun) >= 3);
    pthread_create(&thread, NULL, let_go_soon, NULL);
    thread_pool_cancel(pool, &group);
    unsigned done = 0;
    for (int i = 0; i < 50; i++) {
        done += jobs[i].times;
        jobs[i].times = 100; /* no other thread looks at them any more */
    }
    ck_assert_uint_ge(done, 3);
    ck_assert(thread_pool_has_ended(&group));
    wait_for(pool, &other);
    pthread_join(thread, NULL);
    for (int i = 0; i < 50; i++) {
        ck_assert_uint_eq(jobs[i].times, 100);
        ck_assert_uint_eq(jobs[50 + i].times, 1);
    }
    thread_pool_free(pool);
}
END_TEST

START_TEST(the_end_waits_for_what_has_begun_and_for_no_more)
{
    struct thread_pool *pool = new_pool(2);
    struct pool_group group = {.work = do_job};
    pthread_t thread;
    atomic_store(&held, true);
    add(pool, &group, POOL_USUAL, 0, TASKS);
    UNIT_WAIT_UNTIL(atomic_load(&begun) >= 2);
    pthread_create(&thread, NULL, let_go_soon, NULL);
    thread_pool_free(pool);
    pthread_join(thread, NULL);
    unsigned done = 0;
    for (int i = 0; i < TASKS; i++) {
        done += jobs[i].times;
    }
    ck_assert_uint_eq(done, atomic_load(&begun));
}
END_TEST

START_TEST(a_signal_wakes_who_waits)
{
    struct thread_pool *pool = new_pool(4);
    unit_signals_begin();
    thread_pool_wait(pool, thread_pool_ends(pool), 1000 * STK_NS_PER_S);
    unit_signals_end();
    thread_pool_free(pool);
}
END_TEST

START_TEST(its_threads_take_no_signals)
{
    sigset_t signals;
    struct thread_pool *pool = new_pool(4);
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    kill(getpid(), SIGUSR1); /* a thread that takes it ends here */
    usleep(20000);
    sigpending(&signals);
    ck_assert_int_eq(sigismember(&signals, SIGUSR1), 1);
    thread_pool_free(pool);
}
END_TEST

static int let_go_in_child(void *context)
{
    struct thread_pool *pool = context;
    struct pool_group group = {.work = do_job, .left = 3};
    if (thread_pool_is_own(pool)) {
        return 1;
    }
    thread_pool_cancel(pool, &group);
    thread_pool_free(pool);
    return 0;
}

START_TEST(a_child_has_none_of_the_threads)
{
    struct thread_pool *pool = new_pool(2);
    struct pool_group group = {.work = do_job};
    atomic_store(&held, true);
    add(pool, &group, POOL_USUAL, 0, 10);
    UNIT_WAIT_UNTIL(atomic_load(&begun) >= 2);
    ck_assert_int_eq(unit_in_child(let_go_in_child, pool), 0);
    atomic_store(&held, false);
    wait_for(pool, &group);
    thread_pool_free(pool);
}
END_TEST

Suite *suite_thread_pool(void)
{
    Suite *suite = suite_create("thread_pool");
    TCase *tasks = unit_case(suite, "thread_pool_tasks");
    tcase_add_test(tasks, each_task_is_done_once);
    tcase_add_test(tasks, urgent_tasks_come_first_and_others_in_their_order);
    tcase_add_test(tasks, of_usual_tasks_no_more_are_done_at_once_than_was_said);
    tcase_add_test(tasks, what_is_cancelled_has_not_begun_or_has_ended);
    tcase_add_test(tasks, the_end_waits_for_what_has_begun_and_for_no_more);
    TCase *waiting = unit_case(suite, "thread_pool_waiting");
    tcase_add_test(waiting, a_signal_wakes_who_waits);
    tcase_add_test(waiting, its_threads_take_no_signals);
    tcase_add_test(waiting, a_child_has_none_of_the_threads);
    return suite;
}
