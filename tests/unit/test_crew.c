/* wrappers/python/core/feed/crew.c */
#include "tests/unit/unit.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/clock.h"
#include "wrappers/python/core/feed/crew.h"

#define TASKS 200

struct job {
    struct crew_task task;
    unsigned times;
    unsigned turn; /* when it was done, among all */
};

static struct job jobs[TASKS];
static _Atomic unsigned turns;
static _Atomic bool held; /* tasks wait as long as it is */
static _Atomic unsigned begun;

static void do_job(struct crew_task *task)
{
    struct job *job = (struct job *)task;
    atomic_fetch_add(&begun, 1);
    while (atomic_load(&held)) {
        usleep(100);
    }
    job->times++;
    job->turn = atomic_fetch_add(&turns, 1);
}

static struct crew *new_crew_of(unsigned threads, unsigned at_once)
{
    int error;
    struct crew *crew = crew_new(threads, at_once, &error);
    ck_assert_ptr_nonnull(crew);
    return crew;
}

static struct crew *new_crew(unsigned threads)
{
    return new_crew_of(threads, threads);
}

static void wait_for(struct crew *crew, const struct crew_group *group)
{
    uint32_t ends = crew_ends(crew);
    while (!crew_has_ended(group)) {
        crew_wait(crew, ends, 10 * STK_NS_PER_S);
        ends = crew_ends(crew);
    }
}

static void wait_for_begun(unsigned count)
{
    while (atomic_load(&begun) < count) {
        usleep(100);
    }
}

static void add(struct crew *crew, struct crew_group *group, enum crew_urgency urgency, int first,
                size_t count)
{
    crew_add(crew, group, urgency, &jobs[first], count, sizeof jobs[0]);
}

START_TEST(each_task_is_done_once)
{
    struct crew *crew = new_crew(4);
    struct crew_group group = {.work = do_job};
    for (unsigned round = 1; round <= 50; round++) {
        add(crew, &group, CREW_USUAL, 0, TASKS);
        wait_for(crew, &group);
        for (int i = 0; i < TASKS; i++) {
            ck_assert_uint_eq(jobs[i].times, round);
        }
        while (crew_ends(crew) < round) { /* told of a moment later */
            usleep(100);
        }
    }
    ck_assert_uint_eq(crew_ends(crew), 50);
    crew_free(crew);
}
END_TEST

START_TEST(urgent_tasks_come_first_and_others_in_their_order)
{
    struct crew *crew = new_crew(1);
    struct crew_group usual = {.work = do_job}, urgent = {.work = do_job};
    atomic_store(&held, true);
    add(crew, &usual, CREW_USUAL, 0, 10);
    wait_for_begun(1);
    add(crew, &urgent, CREW_URGENT, 10, 10);
    atomic_store(&held, false);
    wait_for(crew, &usual);
    ck_assert(crew_has_ended(&urgent));
    for (unsigned i = 0; i < 20; i++) {
        ck_assert_uint_eq(jobs[i].turn, i == 0 ? 0 : i < 10 ? 10 + i : i - 9);
    }
    crew_free(crew);
}
END_TEST

static _Atomic unsigned now, most;

static void count_job(struct crew_task *task)
{
    unsigned count = atomic_fetch_add(&now, 1) + 1, before = atomic_load(&most);
    while (before < count && !atomic_compare_exchange_weak(&most, &before, count)) {
    }
    do_job(task);
    atomic_fetch_sub(&now, 1);
}

START_TEST(of_usual_tasks_no_more_are_done_at_once_than_was_said)
{
    struct crew *crew = new_crew_of(4, 2);
    struct crew_group usual = {.work = count_job}, urgent = {.work = do_job};
    atomic_store(&held, true);
    add(crew, &usual, CREW_USUAL, 0, 150);
    wait_for_begun(2);
    add(crew, &urgent, CREW_URGENT, 150, 50);
    wait_for_begun(4); /* by those whom nothing else is for */
    ck_assert_uint_eq(atomic_load(&now), 2);
    atomic_store(&held, false);
    wait_for(crew, &usual);
    wait_for(crew, &urgent);
    ck_assert_uint_eq(atomic_load(&most), 2);
    for (int i = 0; i < TASKS; i++) {
        ck_assert_uint_eq(jobs[i].times, 1);
    }
    crew_free(crew);
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
    struct crew *crew = new_crew(3);
    struct crew_group group = {.work = do_job}, other = {.work = do_job};
    pthread_t thread;
    atomic_store(&held, true);
    add(crew, &group, CREW_URGENT, 0, 50);
    add(crew, &other, CREW_USUAL, 50, 50);
    wait_for_begun(3);
    pthread_create(&thread, NULL, let_go_soon, NULL);
    crew_cancel(crew, &group);
    unsigned done = 0;
    for (int i = 0; i < 50; i++) {
        done += jobs[i].times;
        jobs[i].times = 100; /* nobody else looks at them any more */
    }
    ck_assert_uint_ge(done, 3);
    ck_assert(crew_has_ended(&group));
    wait_for(crew, &other);
    pthread_join(thread, NULL);
    for (int i = 0; i < 50; i++) {
        ck_assert_uint_eq(jobs[i].times, 100);
        ck_assert_uint_eq(jobs[50 + i].times, 1);
    }
    crew_free(crew);
}
END_TEST

START_TEST(the_end_waits_for_what_has_begun_and_for_no_more)
{
    struct crew *crew = new_crew(2);
    struct crew_group group = {.work = do_job};
    pthread_t thread;
    atomic_store(&held, true);
    add(crew, &group, CREW_USUAL, 0, TASKS);
    wait_for_begun(2);
    pthread_create(&thread, NULL, let_go_soon, NULL);
    crew_free(crew);
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
    struct crew *crew = new_crew(4);
    unit_signals_begin();
    crew_wait(crew, crew_ends(crew), 1000 * STK_NS_PER_S);
    unit_signals_end();
    crew_free(crew);
}
END_TEST

START_TEST(its_threads_take_no_signals)
{
    sigset_t signals;
    struct crew *crew = new_crew(4);
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    kill(getpid(), SIGUSR1); /* who takes it ends here */
    usleep(20000);
    sigpending(&signals);
    ck_assert_int_eq(sigismember(&signals, SIGUSR1), 1);
    crew_free(crew);
}
END_TEST

static int let_go_in_child(void *context)
{
    struct crew *crew = context;
    struct crew_group group = {.work = do_job, .left = 3};
    if (crew_is_own(crew)) {
        return 1;
    }
    crew_cancel(crew, &group);
    crew_free(crew);
    return 0;
}

START_TEST(a_child_has_none_of_the_threads)
{
    struct crew *crew = new_crew(2);
    struct crew_group group = {.work = do_job};
    atomic_store(&held, true);
    add(crew, &group, CREW_USUAL, 0, 10);
    wait_for_begun(2);
    ck_assert_int_eq(unit_in_child(let_go_in_child, crew), 0);
    atomic_store(&held, false);
    wait_for(crew, &group);
    crew_free(crew);
}
END_TEST

Suite *suite_crew(void)
{
    Suite *suite = suite_create("crew");
    TCase *tasks = unit_case(suite, "crew_tasks");
    tcase_add_test(tasks, each_task_is_done_once);
    tcase_add_test(tasks, urgent_tasks_come_first_and_others_in_their_order);
    tcase_add_test(tasks, of_usual_tasks_no_more_are_done_at_once_than_was_said);
    tcase_add_test(tasks, what_is_cancelled_has_not_begun_or_has_ended);
    tcase_add_test(tasks, the_end_waits_for_what_has_begun_and_for_no_more);
    TCase *waiting = unit_case(suite, "crew_waiting");
    tcase_add_test(waiting, a_signal_wakes_who_waits);
    tcase_add_test(waiting, its_threads_take_no_signals);
    tcase_add_test(waiting, a_child_has_none_of_the_threads);
    return suite;
}
