/* base/invariant.h, and what it sees of the folders. */
#include <signal.h>

#include "base/invariant.h"
#include "cache/catalogue/budget.h"
#include "cache/catalogue/claim.h"
#include "tests/unit/unit.h"

START_TEST(a_true_condition_passes)
{
    STK_INVARIANT(1 + 1 == 2);
}
END_TEST

START_TEST(a_broken_condition_aborts)
{
    STK_INVARIANT(1 + 1 == 3);
}
END_TEST

START_TEST(a_version_is_present_only_after_a_fill)
{
    _Atomic uint64_t word = 0;
    struct stk_claim absent = stk_claim_load(&word), present = absent;
    present.state = STK_PRESENT;
    stk_claim_change(&word, absent, present);
}
END_TEST

START_TEST(a_reservation_is_not_negative)
{
    struct stk_budget budget = {.blocks = 100, .inodes = 100};
    stk_budget_reserve(&budget, -1, 0);
}
END_TEST

Suite *suite_invariant(void)
{
    Suite *suite = suite_create("invariant");
    TCase *tcase = unit_case(suite, "invariants");
    tcase_add_test(tcase, a_true_condition_passes);
    tcase_add_test_raise_signal(tcase, a_broken_condition_aborts, SIGABRT);
    tcase_add_test_raise_signal(tcase, a_version_is_present_only_after_a_fill, SIGABRT);
    tcase_add_test_raise_signal(tcase, a_reservation_is_not_negative, SIGABRT);
    return suite;
}
