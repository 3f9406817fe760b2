/* cache/run/big_queue.c */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cache/run/big_queue.h"
#include "tests/unit/unit.h"

static struct stk_big_queue queue;

static void begin(bool holds)
{
    memset(&queue, 0, sizeof queue);
    stk_big_queue_open(&queue, true, holds);
}

static uint32_t marks_of(uint64_t ticket)
{
    struct stk_big_queue_file file;
    for (unsigned i = 0; i < STK_BIG_QUEUE_SLOTS; i++) {
        if (stk_big_queue_look(&queue, i, &file) && file.ticket == ticket) {
            return file.marks;
        }
    }
    return UINT32_MAX;
}

START_TEST(what_is_told_is_seen)
{
    struct stk_big_queue_file file;
    begin(false);
    uint64_t ticket = stk_big_queue_add(&queue, 5, 7, "a/b");
    ck_assert_uint_ne(ticket, 0);
    ck_assert_uint_eq(stk_big_queue_add(&queue, 5, 7, "a/b"), ticket);
    ck_assert(stk_big_queue_look(&queue, 0, &file));
    ck_assert_uint_eq(file.ticket, ticket);
    ck_assert_uint_eq(file.root, 7);
    ck_assert_str_eq(file.below, "a/b");
    ck_assert_uint_eq(file.marks, 0);
    ck_assert(!stk_big_queue_look(&queue, 1, &file));
    stk_big_queue_mark(&queue, ticket, STK_BIG_QUEUE_READ);
    stk_big_queue_mark(&queue, ticket, STK_BIG_QUEUE_MAPPED);
    ck_assert_uint_eq(marks_of(ticket), STK_BIG_QUEUE_READ | STK_BIG_QUEUE_MAPPED);
}
END_TEST

START_TEST(only_where_names_are_wanted)
{
    char longest[STK_BIG_QUEUE_PATH_BYTES + 1];
    memset(&queue, 0, sizeof queue);
    ck_assert_uint_eq(stk_big_queue_add(&queue, 1, 1, "a"), 0);
    ck_assert_uint_eq(stk_big_queue_add(NULL, 1, 1, "a"), 0);
    begin(false);
    memset(longest, 'x', STK_BIG_QUEUE_PATH_BYTES);
    longest[STK_BIG_QUEUE_PATH_BYTES] = '\0';
    ck_assert_uint_eq(stk_big_queue_add(&queue, 1, 1, longest), 0);
    ck_assert_uint_ne(stk_big_queue_add(&queue, 1, 1, longest + 1), 0);
    stk_big_queue_mark(NULL, 1, STK_BIG_QUEUE_READ);
    stk_big_queue_mark(&queue, 0, STK_BIG_QUEUE_READ);
    ck_assert(!stk_big_queue_mark(&queue, UINT64_MAX, STK_BIG_QUEUE_READ));
}
END_TEST

START_TEST(tickets_of_others_are_nobodys)
{
    begin(false);
    uint64_t first = stk_big_queue_add(&queue, 1, 1, "first");
    stk_big_queue_free(&queue, first);
    uint64_t second = stk_big_queue_add(&queue, 2, 1, "second");
    ck_assert_uint_eq((uint32_t)first, (uint32_t)second);
    ck_assert(!stk_big_queue_mark(&queue, first, STK_BIG_QUEUE_MAPPED));
    ck_assert_uint_eq(marks_of(second), 0);
    stk_big_queue_free(&queue, first);
    ck_assert_uint_eq(marks_of(second), 0);
}
END_TEST

START_TEST(names_of_what_was_mapped_stay)
{
    uint64_t tickets[STK_BIG_QUEUE_SLOTS];
    begin(false);
    for (unsigned i = 0; i < STK_BIG_QUEUE_SLOTS; i++) {
        tickets[i] = stk_big_queue_add(&queue, i + 1, 1, "a");
        ck_assert_uint_ne(tickets[i], 0);
    }
    ck_assert_uint_eq(stk_big_queue_add(&queue, 1000, 1, "a"), 0);
    stk_big_queue_mark(&queue, tickets[3], STK_BIG_QUEUE_MAPPED);
    stk_big_queue_free(&queue, tickets[3]);
    ck_assert_uint_eq(marks_of(tickets[3]), STK_BIG_QUEUE_MAPPED);
    stk_big_queue_mark(&queue, tickets[4], STK_BIG_QUEUE_DONE);
    ck_assert_uint_ne(stk_big_queue_add(&queue, 1000, 1, "a"), 0); /* in the place of that */
    ck_assert_uint_eq(marks_of(tickets[4]), UINT32_MAX);
    ck_assert_uint_eq(queue.more, 0);
    stk_big_queue_mark(&queue, tickets[3], STK_BIG_QUEUE_LEFT);
    ck_assert_uint_ne(stk_big_queue_add(&queue, 1001, 1, "a"), 0); /* for want of any other */
    ck_assert_uint_eq(queue.more, 1);
}
END_TEST

START_TEST(what_was_left_is_worth_another_try)
{
    begin(false);
    uint64_t ticket = stk_big_queue_add(&queue, 1, 1, "a");
    stk_big_queue_mark(&queue, ticket, STK_BIG_QUEUE_READ | STK_BIG_QUEUE_LEFT);
    uint64_t again = stk_big_queue_add(&queue, 1, 1, "a");
    ck_assert_uint_ne(again, ticket); /* or what was seen before would have no news */
    ck_assert_uint_eq(marks_of(again), STK_BIG_QUEUE_READ);
    ck_assert(!stk_big_queue_mark(&queue, ticket, STK_BIG_QUEUE_LEFT)); /* that was before */
    ck_assert_uint_eq(stk_big_queue_add(&queue, 1, 1, "a"), again);
}
END_TEST

START_TEST(a_slot_of_a_killed_writer)
{
    begin(false);
    for (unsigned i = 0; i < STK_BIG_QUEUE_SLOTS; i++) {
        queue.slots[i].word = 1 | UINT64_C(0xfffffe) << 8; /* no such process */
    }
    ck_assert_uint_ne(stk_big_queue_add(&queue, 1, 1, "a"), 0);
}
END_TEST

/* As if so much time had gone by. */
static void age(int64_t ms)
{
    atomic_fetch_sub(&queue.read_ns, ms * (STK_NS_PER_S / 1000));
}

START_TEST(a_read_under_way_may_be_silent)
{
    begin(false);
    ck_assert(!stk_big_queue_is_reading(&queue));
    stk_big_queue_note_reading(&queue, STK_BIG_QUEUE_BEGINS);
    age(300);
    ck_assert(stk_big_queue_is_reading(&queue));
    stk_big_queue_note_reading(&queue, STK_BIG_QUEUE_ENDS);
    age(300);
    ck_assert(!stk_big_queue_is_reading(&queue));
    stk_big_queue_note_reading(&queue, STK_BIG_QUEUE_BEGINS); /* and is killed */
    age(2100);
    ck_assert(!stk_big_queue_is_reading(&queue));
    stk_big_queue_close(&queue);
    stk_big_queue_note_reading(&queue, STK_BIG_QUEUE_BEGINS); /* without a request */
    ck_assert(!stk_big_queue_is_reading(&queue));
    stk_big_queue_note_reading(NULL, STK_BIG_QUEUE_BEGINS);
}
END_TEST

static _Atomic uint32_t whole;

static void *finish(void *context)
{
    UNIT_WAIT_UNTIL(queue.waiting != 0);
    stk_big_queue_step(&queue);
    atomic_store(&whole, 1);
    stk_big_queue_step(&queue);
    return context;
}

START_TEST(waiting_ends_when_it_is_whole)
{
    pthread_t thread;
    begin(true);
    atomic_store(&whole, 0);
    uint64_t ticket = stk_big_queue_add(&queue, 1, 1, "a");
    ck_assert(stk_big_queue_holds(&queue));
    ck_assert_int_eq(pthread_create(&thread, NULL, finish, &ticket), 0);
    ck_assert(stk_big_queue_wait(&queue, ticket, &whole));
    pthread_join(thread, NULL);
    ck_assert_uint_eq(queue.waiting, 0);
}
END_TEST

START_TEST(waiting_ends_when_it_is_hopeless)
{
    begin(true);
    atomic_store(&whole, 0);
    uint64_t ticket = stk_big_queue_add(&queue, 1, 1, "a");
    ck_assert(!stk_big_queue_wait(&queue, 0, &whole));
    unit_signals_begin();
    ck_assert(!stk_big_queue_wait(&queue, ticket, &whole));
    unit_signals_end();
    ck_assert(stk_big_queue_holds(&queue));
    int64_t began_ns = stk_clock_boottime_ns();
    ck_assert(!stk_big_queue_wait(&queue, ticket, &whole)); /* no file advances */
    ck_assert_int_gt(stk_clock_boottime_ns() - began_ns, 4 * STK_NS_PER_S);
    ck_assert(!stk_big_queue_holds(&queue)); /* once is enough */
    stk_big_queue_step(&queue);
    ck_assert(stk_big_queue_holds(&queue));
    stk_big_queue_mark(&queue, ticket, STK_BIG_QUEUE_LEFT);
    ck_assert(!stk_big_queue_wait(&queue, ticket, &whole));
    ticket = stk_big_queue_add(&queue, 2, 1, "b");
    stk_big_queue_close(&queue);
    ck_assert(!stk_big_queue_holds(&queue));
    ck_assert(!stk_big_queue_wait(&queue, ticket, &whole));
    stk_big_queue_step(&queue); /* a last block may come when all is over */
    ck_assert(!stk_big_queue_holds(&queue));
}
END_TEST

Suite *suite_big_queue(void)
{
    Suite *suite = suite_create("big_queue");
    TCase *slots = unit_case(suite, "slots");
    tcase_add_test(slots, what_is_told_is_seen);
    tcase_add_test(slots, only_where_names_are_wanted);
    tcase_add_test(slots, tickets_of_others_are_nobodys);
    tcase_add_test(slots, names_of_what_was_mapped_stay);
    tcase_add_test(slots, what_was_left_is_worth_another_try);
    tcase_add_test(slots, a_slot_of_a_killed_writer);
    tcase_add_test(slots, a_read_under_way_may_be_silent);
    tcase_add_test(slots, waiting_ends_when_it_is_whole);
    tcase_add_test(slots, waiting_ends_when_it_is_hopeless);
    return suite;
}
