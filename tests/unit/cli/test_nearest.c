/* cli/out/nearest.c */
#include "tests/unit/unit.h"

#include "cli/out/nearest.h"

static const char *meant(const char *word)
{
    static const char *const candidates[] = {"run", "report", "warm", "clear", "STOKER_TIERS"};
    struct nearest nearest = nearest_to(word);
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        nearest_try(&nearest, candidates[i]);
    }
    return nearest.best;
}

START_TEST(words_that_were_meant)
{
    ck_assert_pstr_eq(meant("runn"), "run");
    ck_assert_pstr_eq(meant("reprot"), "report");
    ck_assert_pstr_eq(meant("warn"), "warm");
    ck_assert_pstr_eq(meant("wram"), "warm");
    ck_assert_pstr_eq(meant("rnu"), "run");
    ck_assert_pstr_eq(meant("STOKER_TEIRS"), "STOKER_TIERS");
    ck_assert_pstr_eq(meant("clear"), "clear");
}
END_TEST

START_TEST(words_that_are_something_else)
{
    ck_assert_ptr_null(meant("train"));
    ck_assert_ptr_null(meant("rm"));
    ck_assert_ptr_null(meant("x"));
    ck_assert_ptr_null(meant(""));
    ck_assert_ptr_null(meant("a word of more than forty letters, which no candidate has"));
}
END_TEST

Suite *suite_nearest(void)
{
    Suite *suite = suite_create("nearest");
    TCase *all = unit_case(suite, "nearest");
    tcase_add_test(all, words_that_were_meant);
    tcase_add_test(all, words_that_are_something_else);
    return suite;
}
