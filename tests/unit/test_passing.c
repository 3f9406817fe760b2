/* cache/passing.c */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cache/passing.h"
#include "tests/unit/unit.h"

static struct stk_passings passings;
static struct stk_budget budget;

static void begin(int64_t blocks)
{
    memset(&passings, 0, sizeof passings);
    atomic_store(&budget.blocks, blocks);
}

START_TEST(a_part_of_the_budget)
{
    begin(1600);
    ck_assert_int_eq(stk_passing_room(&budget), 100);
    atomic_store(&budget.blocks, INT64_C(1) << 40);
    ck_assert_int_eq(stk_passing_room(&budget), (INT64_C(1) << 30) / STK_BLOCK_BYTES);
}
END_TEST

START_TEST(takes_and_gives_back)
{
    begin(1600);
    struct stk_passing *first = stk_passing_begin(&passings, false, 1, "a");
    struct stk_passing *second = stk_passing_begin(&passings, false, 2, "b");
    ck_assert(stk_passing_take(&passings, first, false, 3, &budget, 60));
    ck_assert(!stk_passing_take(&passings, second, false, 3, &budget, 41));
    ck_assert_int_eq(stk_passing_left(&passings, 3, &budget), 40);
    ck_assert(stk_passing_take(&passings, second, false, 4, &budget, 41)); /* another tier's */
    ck_assert(stk_passing_take(&passings, second, false, 3, &budget, 40));
    ck_assert_int_eq(stk_passing_left(&passings, 4, &budget), 100);
    ck_assert_uint_eq(stk_passing_tier(&passings, second), 3);
    stk_passing_end(&passings, first);
    ck_assert_int_eq(stk_passing_left(&passings, 3, &budget), 60);
    ck_assert_str_eq(second->path, "b");
}
END_TEST

START_TEST(no_more_than_there_are_notes)
{
    begin(1600);
    struct stk_passing *last = NULL;
    for (unsigned i = 0; i < STK_PASSING_SLOTS; i++) {
        ck_assert_ptr_nonnull(last = stk_passing_begin(&passings, false, i + 1, "a"));
    }
    ck_assert_ptr_null(stk_passing_begin(&passings, false, 99, "a"));
    stk_passing_end(&passings, last);
    ck_assert_ptr_eq(stk_passing_begin(&passings, false, 99, "a"), last);
}
END_TEST

/* How fast a shared tier takes what it is given is its business: half is for what comes from there.
 */
START_TEST(on_its_way_there)
{
    begin(1600);
    ck_assert_int_eq(stk_passing_spared(true, &budget), 50);
    ck_assert_int_eq(stk_passing_spared(false, &budget), 0);
    struct stk_passing *passing = stk_passing_begin(&passings, true, 1, "a");
    ck_assert(!stk_passing_take(&passings, passing, true, 3, &budget, 51));
    ck_assert(stk_passing_take(&passings, passing, true, 3, &budget, 50));
    for (unsigned i = 1; i < STK_PASSING_SLOTS / 2; i++) {
        ck_assert_ptr_nonnull(stk_passing_begin(&passings, true, i + 1, "a"));
    }
    ck_assert_ptr_null(stk_passing_begin(&passings, true, 99, "a"));
    passing = stk_passing_begin(&passings, false, 99, "a");
    ck_assert(stk_passing_take(&passings, passing, false, 3, &budget, 50));
}
END_TEST

/* Whoever makes one has it for himself, unless he has been dead for long. */
START_TEST(who_may_drop_one)
{
    begin(1600);
    struct stk_passing *passing = stk_passing_begin(&passings, false, 1, "a");
    ck_assert(!stk_passing_claim(passing));
    stk_passing_opened(passing);
    ck_assert(stk_passing_claim(passing));
    ck_assert(!stk_passing_claim(passing));
    stk_passing_opened(passing); /* it stays */
    ck_assert(stk_passing_claim(passing));
    stk_passing_end(&passings, passing);
    ck_assert(!stk_passing_claim(passing));
    passing = stk_passing_begin(&passings, false, 1, "a");
    atomic_store(&passing->began_ns, stk_clock_boottime_ns() - 11 * STK_NS_PER_S);
    ck_assert(stk_passing_claim(passing));
}
END_TEST

/* What is unlinked and still open takes its room until it is closed. */
START_TEST(one_that_is_gone)
{
    begin(1600);
    struct stk_passing *passing = stk_passing_begin(&passings, false, 1, "a");
    ck_assert(stk_passing_take(&passings, passing, false, 2, &budget, 60));
    stk_passing_gone(&passings, passing, 70);
    ck_assert(!stk_passing_claim(passing));
    ck_assert_int_eq(stk_passing_blocks(&passings, passing), 70);
    ck_assert_int_eq(stk_passing_left(&passings, 2, &budget), 30);
    stk_passing_end(&passings, passing);
    ck_assert_int_eq(stk_passing_left(&passings, 2, &budget), 100);
}
END_TEST

/* Makes room once, of the note that it is given. */
static void *make_room(void *note)
{
    uint32_t asked = 0;
    while (asked == 0) {
        asked = stk_passings_wait(&passings, STK_NS_PER_S / 10);
    }
    if (note != NULL) {
        stk_passing_end(&passings, note);
    }
    stk_passings_looked(&passings, asked);
    return NULL;
}

static bool is_made_room(bool there_is_some)
{
    pthread_t thread;
    begin(1600);
    struct stk_passing *passing =
        there_is_some ? stk_passing_begin(&passings, false, 1, "a") : NULL;
    ck_assert_int_eq(pthread_create(&thread, NULL, make_room, passing), 0);
    bool made = stk_passings_make_room(&passings);
    pthread_join(thread, NULL);
    return made;
}

/* It is waited for 100 ms; on a busy machine the other thread may not come to make it so soon. */
START_TEST(asks_for_room)
{
    bool made = false;
    for (int i = 0; i < 100 && !made; i++) {
        made = is_made_room(true);
    }
    ck_assert(made);
    ck_assert(!is_made_room(false));
    begin(1600);
    ck_assert(!stk_passings_make_room(&passings)); /* of nobody, and not for ever */
}
END_TEST

Suite *suite_passing(void)
{
    Suite *suite = suite_create("passing");
    TCase *tcase = unit_case(suite, "passing");
    tcase_add_test(tcase, a_part_of_the_budget);
    tcase_add_test(tcase, takes_and_gives_back);
    tcase_add_test(tcase, no_more_than_there_are_notes);
    tcase_add_test(tcase, on_its_way_there);
    tcase_add_test(tcase, who_may_drop_one);
    tcase_add_test(tcase, one_that_is_gone);
    tcase_add_test(tcase, asks_for_room);
    return suite;
}
