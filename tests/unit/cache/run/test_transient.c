/* cache/run/transient.c */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cache/run/transient.h"
#include "tests/unit/unit.h"

static struct stk_transients transients;
static struct stk_budget budget;

static void begin(int64_t blocks)
{
    memset(&transients, 0, sizeof transients);
    atomic_store(&budget.blocks, blocks);
}

START_TEST(a_part_of_the_budget)
{
    begin(1600);
    ck_assert_int_eq(stk_transient_room(&budget), 100);
    atomic_store(&budget.blocks, INT64_C(1) << 40);
    ck_assert_int_eq(stk_transient_room(&budget), (INT64_C(1) << 30) / STK_BLOCK_BYTES);
}
END_TEST

START_TEST(takes_and_gives_back)
{
    begin(1600);
    struct stk_transient *first = stk_transient_begin(&transients, false, 1, "a");
    struct stk_transient *second = stk_transient_begin(&transients, false, 2, "b");
    ck_assert(stk_transient_take(&transients, first, false, 3, &budget, 60));
    ck_assert(!stk_transient_take(&transients, second, false, 3, &budget, 41));
    ck_assert_int_eq(stk_transient_left(&transients, 3, &budget), 40);
    ck_assert(stk_transient_take(&transients, second, false, 4, &budget, 41)); /* another tier's */
    ck_assert(stk_transient_take(&transients, second, false, 3, &budget, 40));
    ck_assert_int_eq(stk_transient_left(&transients, 4, &budget), 100);
    ck_assert_uint_eq(stk_transient_tier(&transients, second), 3);
    stk_transient_end(&transients, first);
    ck_assert_int_eq(stk_transient_left(&transients, 3, &budget), 60);
    ck_assert_str_eq(second->path, "b");
}
END_TEST

START_TEST(no_more_than_there_are_notes)
{
    begin(1600);
    struct stk_transient *last = NULL;
    for (unsigned i = 0; i < STK_TRANSIENT_SLOTS; i++) {
        ck_assert_ptr_nonnull(last = stk_transient_begin(&transients, false, i + 1, "a"));
    }
    ck_assert_ptr_null(stk_transient_begin(&transients, false, 99, "a"));
    stk_transient_end(&transients, last);
    ck_assert_ptr_eq(stk_transient_begin(&transients, false, 99, "a"), last);
}
END_TEST

/* How fast a shared tier takes what it is given is its business: half is for what comes from there.
 */
START_TEST(on_its_way_there)
{
    begin(1600);
    ck_assert_int_eq(stk_transient_spared(true, &budget), 50);
    ck_assert_int_eq(stk_transient_spared(false, &budget), 0);
    struct stk_transient *transient = stk_transient_begin(&transients, true, 1, "a");
    ck_assert(!stk_transient_take(&transients, transient, true, 3, &budget, 51));
    ck_assert(stk_transient_take(&transients, transient, true, 3, &budget, 50));
    for (unsigned i = 1; i < STK_TRANSIENT_SLOTS / 2; i++) {
        ck_assert_ptr_nonnull(stk_transient_begin(&transients, true, i + 1, "a"));
    }
    ck_assert_ptr_null(stk_transient_begin(&transients, true, 99, "a"));
    transient = stk_transient_begin(&transients, false, 99, "a");
    ck_assert(stk_transient_take(&transients, transient, false, 3, &budget, 50));
}
END_TEST

/* The maker of a transient entry has it alone, unless that process has been dead for long. */
START_TEST(who_may_drop_one)
{
    begin(1600);
    struct stk_transient *transient = stk_transient_begin(&transients, false, 1, "a");
    ck_assert(!stk_transient_claim(transient));
    stk_transient_opened(transient);
    ck_assert(stk_transient_claim(transient));
    ck_assert(!stk_transient_claim(transient));
    stk_transient_opened(transient); /* it stays */
    ck_assert(stk_transient_claim(transient));
    stk_transient_end(&transients, transient);
    ck_assert(!stk_transient_claim(transient));
    transient = stk_transient_begin(&transients, false, 1, "a");
    atomic_store(&transient->began_ns, stk_clock_boottime_ns() - 11 * STK_NS_PER_S);
    ck_assert(stk_transient_claim(transient));
}
END_TEST

/* An unlinked file takes its room until its last descriptor is closed. */
START_TEST(one_that_is_gone)
{
    begin(1600);
    struct stk_transient *transient = stk_transient_begin(&transients, false, 1, "a");
    ck_assert(stk_transient_take(&transients, transient, false, 2, &budget, 60));
    stk_transient_gone(&transients, transient, 70);
    ck_assert(!stk_transient_claim(transient));
    ck_assert_int_eq(stk_transient_blocks(&transients, transient), 70);
    ck_assert_int_eq(stk_transient_left(&transients, 2, &budget), 30);
    stk_transient_end(&transients, transient);
    ck_assert_int_eq(stk_transient_left(&transients, 2, &budget), 100);
}
END_TEST

/* Makes room once, of the note that it is given. */
static void *make_room(void *note)
{
    uint32_t asked = 0;
    while (asked == 0) {
        asked = stk_transients_wait(&transients, STK_NS_PER_S / 10);
    }
    if (note != NULL) {
        stk_transient_end(&transients, note);
    }
    stk_transients_looked(&transients, asked);
    return NULL;
}

static bool is_made_room(bool there_is_some)
{
    pthread_t thread;
    begin(1600);
    struct stk_transient *transient =
        there_is_some ? stk_transient_begin(&transients, false, 1, "a") : NULL;
    ck_assert_int_eq(pthread_create(&thread, NULL, make_room, transient), 0);
    bool made = stk_transients_make_room(&transients);
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
    ck_assert(!stk_transients_make_room(&transients)); /* without a maker, and not for ever */
}
END_TEST

Suite *suite_transient(void)
{
    Suite *suite = suite_create("transient");
    TCase *tcase = unit_case(suite, "transient");
    tcase_add_test(tcase, a_part_of_the_budget);
    tcase_add_test(tcase, takes_and_gives_back);
    tcase_add_test(tcase, no_more_than_there_are_notes);
    tcase_add_test(tcase, on_its_way_there);
    tcase_add_test(tcase, who_may_drop_one);
    tcase_add_test(tcase, one_that_is_gone);
    tcase_add_test(tcase, asks_for_room);
    return suite;
}
