/* base/tally.c */
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#include "base/tally.h"

START_TEST(belongs_to_a_run)
{
    char path[64];
    ck_assert(stk_tally_path(path, sizeof path, "/dev/shm/stoker-1/runs/12-ab"));
    ck_assert_str_eq(path, "/dev/shm/stoker-1/runs/.12-ab.decode");
    ck_assert(!stk_tally_path(path, 20, "/dev/shm/stoker-1/runs/12-ab"));
}
END_TEST

START_TEST(counts_for_all_who_opened_it)
{
    const char *path = unit_path("tally");
    ck_assert_int_eq(stk_tally_create(path), 0);
    ck_assert_int_eq(stk_tally_create(path), -EEXIST);
    ck_assert_uint_eq(unit_stat(path).st_mode & 07777, 0600);
    struct stk_tally *one = stk_tally_open(path), *other = stk_tally_open(path);
    ck_assert_ptr_nonnull(one);
    ck_assert_ptr_nonnull(other);
    stk_tally_add(one, STK_TALLY_IMAGES, 2);
    stk_tally_add(other, STK_TALLY_IMAGES, 3);
    stk_tally_add(other, STK_TALLY_CUSTOMISED, 1);
    ck_assert_uint_eq(stk_tally_read(one, STK_TALLY_IMAGES), 5);
    ck_assert_uint_eq(stk_tally_read(one, STK_TALLY_CUSTOMISED), 1);
    ck_assert_uint_eq(stk_tally_read(other, STK_TALLY_MODE), 0);
}
END_TEST

START_TEST(turns_others_files_away)
{
    static const char zeros[4096];
    ck_assert_ptr_null(stk_tally_open(unit_path("nothing")));
    unit_write(unit_path("zeros"), zeros, sizeof zeros);
    chmod(unit_path("zeros"), 0600);
    ck_assert_ptr_null(stk_tally_open(unit_path("zeros")));
    ck_assert_int_eq(stk_tally_create(unit_path("tally")), 0);
    chmod(unit_path("tally"), 0644);
    ck_assert_ptr_null(stk_tally_open(unit_path("tally")));
}
END_TEST

START_TEST(every_slot_has_its_texts)
{
    for (int slot = 0; slot < STK_TALLY_SLOTS; slot++) {
        ck_assert_ptr_nonnull(stk_tally_name((enum stk_tally_slot)slot));
        ck_assert_ptr_nonnull(stk_tally_meaning((enum stk_tally_slot)slot));
    }
}
END_TEST

Suite *suite_tally(void)
{
    Suite *suite = suite_create("tally");
    TCase *tcase = unit_case(suite, "tally");
    tcase_add_test(tcase, belongs_to_a_run);
    tcase_add_test(tcase, counts_for_all_who_opened_it);
    tcase_add_test(tcase, turns_others_files_away);
    tcase_add_test(tcase, every_slot_has_its_texts);
    return suite;
}
