/* cache/begun.c */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cache/begun.h"
#include "tests/unit/unit.h"

static struct stk_begun begun;

static void begin(bool holds)
{
    memset(&begun, 0, sizeof begun);
    stk_begun_open(&begun, true, holds);
}

static uint32_t marks_of(uint64_t ticket)
{
    struct stk_begun_file file;
    for (unsigned i = 0; i < STK_BEGUN_SLOTS; i++) {
        if (stk_begun_look(&begun, i, &file) && file.ticket == ticket) {
            return file.marks;
        }
    }
    return UINT32_MAX;
}

START_TEST(what_is_told_is_seen)
{
    struct stk_begun_file file;
    begin(false);
    uint64_t ticket = stk_begun_tell(&begun, 5, 7, "a/b");
    ck_assert_uint_ne(ticket, 0);
    ck_assert_uint_eq(stk_begun_tell(&begun, 5, 7, "a/b"), ticket);
    ck_assert(stk_begun_look(&begun, 0, &file));
    ck_assert_uint_eq(file.ticket, ticket);
    ck_assert_uint_eq(file.root, 7);
    ck_assert_str_eq(file.below, "a/b");
    ck_assert_uint_eq(file.marks, 0);
    ck_assert(!stk_begun_look(&begun, 1, &file));
    stk_begun_mark(&begun, ticket, STK_BEGUN_READ);
    stk_begun_mark(&begun, ticket, STK_BEGUN_MAPPED);
    ck_assert_uint_eq(marks_of(ticket), STK_BEGUN_READ | STK_BEGUN_MAPPED);
}
END_TEST

START_TEST(only_where_names_are_wanted)
{
    char longest[STK_BEGUN_PATH_BYTES + 1];
    memset(&begun, 0, sizeof begun);
    ck_assert_uint_eq(stk_begun_tell(&begun, 1, 1, "a"), 0);
    ck_assert_uint_eq(stk_begun_tell(NULL, 1, 1, "a"), 0);
    begin(false);
    memset(longest, 'x', STK_BEGUN_PATH_BYTES);
    longest[STK_BEGUN_PATH_BYTES] = '\0';
    ck_assert_uint_eq(stk_begun_tell(&begun, 1, 1, longest), 0);
    ck_assert_uint_ne(stk_begun_tell(&begun, 1, 1, longest + 1), 0);
    stk_begun_mark(NULL, 1, STK_BEGUN_READ);
    stk_begun_mark(&begun, 0, STK_BEGUN_READ);
    ck_assert(!stk_begun_mark(&begun, UINT64_MAX, STK_BEGUN_READ));
}
END_TEST

START_TEST(tickets_of_others_are_nobodys)
{
    begin(false);
    uint64_t first = stk_begun_tell(&begun, 1, 1, "first");
    stk_begun_free(&begun, first);
    uint64_t second = stk_begun_tell(&begun, 2, 1, "second");
    ck_assert_uint_eq((uint32_t)first, (uint32_t)second);
    ck_assert(!stk_begun_mark(&begun, first, STK_BEGUN_MAPPED));
    ck_assert_uint_eq(marks_of(second), 0);
    stk_begun_free(&begun, first);
    ck_assert_uint_eq(marks_of(second), 0);
}
END_TEST

START_TEST(names_of_what_was_mapped_stay)
{
    uint64_t tickets[STK_BEGUN_SLOTS];
    begin(false);
    for (unsigned i = 0; i < STK_BEGUN_SLOTS; i++) {
        tickets[i] = stk_begun_tell(&begun, i + 1, 1, "a");
        ck_assert_uint_ne(tickets[i], 0);
    }
    ck_assert_uint_eq(stk_begun_tell(&begun, 1000, 1, "a"), 0);
    stk_begun_mark(&begun, tickets[3], STK_BEGUN_MAPPED);
    stk_begun_free(&begun, tickets[3]);
    ck_assert_uint_eq(marks_of(tickets[3]), STK_BEGUN_MAPPED);
    stk_begun_mark(&begun, tickets[4], STK_BEGUN_DONE);
    ck_assert_uint_ne(stk_begun_tell(&begun, 1000, 1, "a"), 0); /* in the place of that */
    ck_assert_uint_eq(marks_of(tickets[4]), UINT32_MAX);
    ck_assert_uint_eq(begun.more, 0);
    stk_begun_mark(&begun, tickets[3], STK_BEGUN_LEFT);
    ck_assert_uint_ne(stk_begun_tell(&begun, 1001, 1, "a"), 0); /* for want of any other */
    ck_assert_uint_eq(begun.more, 1);
}
END_TEST

START_TEST(what_was_left_is_worth_another_try)
{
    begin(false);
    uint64_t ticket = stk_begun_tell(&begun, 1, 1, "a");
    stk_begun_mark(&begun, ticket, STK_BEGUN_READ | STK_BEGUN_LEFT);
    uint64_t again = stk_begun_tell(&begun, 1, 1, "a");
    ck_assert_uint_ne(again, ticket); /* or what was seen before would have no news */
    ck_assert_uint_eq(marks_of(again), STK_BEGUN_READ);
    ck_assert(!stk_begun_mark(&begun, ticket, STK_BEGUN_LEFT)); /* that was before */
    ck_assert_uint_eq(stk_begun_tell(&begun, 1, 1, "a"), again);
}
END_TEST

START_TEST(a_slot_of_a_killed_writer)
{
    begin(false);
    for (unsigned i = 0; i < STK_BEGUN_SLOTS; i++) {
        begun.slots[i].word = 1 | UINT64_C(0xfffffe) << 8; /* no such process */
    }
    ck_assert_uint_ne(stk_begun_tell(&begun, 1, 1, "a"), 0);
}
END_TEST

/* As if so much time had gone by. */
static void age(int64_t ms)
{
    atomic_fetch_sub(&begun.read_ns, ms * (STK_NS_PER_S / 1000));
}

START_TEST(a_read_under_way_may_be_silent)
{
    begin(false);
    ck_assert(!stk_begun_is_reading(&begun));
    stk_begun_note_reading(&begun, STK_BEGUN_BEGINS);
    age(300);
    ck_assert(stk_begun_is_reading(&begun));
    stk_begun_note_reading(&begun, STK_BEGUN_ENDS);
    age(300);
    ck_assert(!stk_begun_is_reading(&begun));
    stk_begun_note_reading(&begun, STK_BEGUN_BEGINS); /* and is killed */
    age(2100);
    ck_assert(!stk_begun_is_reading(&begun));
    stk_begun_close(&begun);
    stk_begun_note_reading(&begun, STK_BEGUN_BEGINS); /* which nobody asks for */
    ck_assert(!stk_begun_is_reading(&begun));
    stk_begun_note_reading(NULL, STK_BEGUN_BEGINS);
}
END_TEST

static _Atomic uint32_t whole;

static void *finish(void *context)
{
    while (begun.waiting == 0) {
        usleep(1000);
    }
    stk_begun_step(&begun);
    atomic_store(&whole, 1);
    stk_begun_step(&begun);
    return context;
}

START_TEST(waiting_ends_when_it_is_whole)
{
    pthread_t thread;
    begin(true);
    atomic_store(&whole, 0);
    uint64_t ticket = stk_begun_tell(&begun, 1, 1, "a");
    ck_assert(stk_begun_holds(&begun));
    ck_assert_int_eq(pthread_create(&thread, NULL, finish, &ticket), 0);
    ck_assert(stk_begun_wait(&begun, ticket, &whole));
    pthread_join(thread, NULL);
    ck_assert_uint_eq(begun.waiting, 0);
}
END_TEST

START_TEST(waiting_ends_when_it_is_hopeless)
{
    begin(true);
    atomic_store(&whole, 0);
    uint64_t ticket = stk_begun_tell(&begun, 1, 1, "a");
    ck_assert(!stk_begun_wait(&begun, 0, &whole));
    unit_signals_begin();
    ck_assert(!stk_begun_wait(&begun, ticket, &whole));
    unit_signals_end();
    ck_assert(stk_begun_holds(&begun));
    int64_t began_ns = stk_clock_boottime_ns();
    ck_assert(!stk_begun_wait(&begun, ticket, &whole)); /* nobody gets on */
    ck_assert_int_gt(stk_clock_boottime_ns() - began_ns, 4 * STK_NS_PER_S);
    ck_assert(!stk_begun_holds(&begun)); /* once is enough */
    stk_begun_step(&begun);
    ck_assert(stk_begun_holds(&begun));
    stk_begun_mark(&begun, ticket, STK_BEGUN_LEFT);
    ck_assert(!stk_begun_wait(&begun, ticket, &whole));
    ticket = stk_begun_tell(&begun, 2, 1, "b");
    stk_begun_close(&begun);
    ck_assert(!stk_begun_holds(&begun));
    ck_assert(!stk_begun_wait(&begun, ticket, &whole));
    stk_begun_step(&begun); /* a last block may come when all is over */
    ck_assert(!stk_begun_holds(&begun));
}
END_TEST

Suite *suite_begun(void)
{
    Suite *suite = suite_create("begun");
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
