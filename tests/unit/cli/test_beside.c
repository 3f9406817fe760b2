/* cli/ahead/orders/beside.c */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "cli/ahead/orders/beside.h"

#define SET    7
#define PROVEN 8

static char path[STK_PATH_BYTES];

/* Notes a sample with the image of a number, and a file in that directory with another number. */
static void open_pair(unsigned number, const char *directory, unsigned other)
{
    char paths[256];
    size_t used = (size_t)snprintf(paths, 100, "/d/images/%u.jpg", number) + 1;
    used += (size_t)snprintf(paths + used, 100, "/d/%s/%u.png", directory, other) + 1;
    ck_assert(beside_add(SET, paths, used));
}

static void open_sample(unsigned number, const char *directory)
{
    open_pair(number, directory, number);
}

START_TEST(several_samples_show_a_rule)
{
    for (unsigned i = 0; i < PROVEN; i++) {
        ck_assert_uint_eq(beside_rules(SET), 0);
        open_sample(i, "masks");
    }
    ck_assert_uint_eq(beside_rules(SET), 1);
    ck_assert_uint_eq(beside_rules(SET + 1), 0);
    ck_assert_uint_eq(beside_path(SET, 0, "/d/images/x.jpg", path), sizeof "/d/masks/x.png");
    ck_assert_str_eq(path, "/d/masks/x.png");
    ck_assert_uint_eq(beside_path(SET, 0, "/d/else/x.jpg", path), 1);
    for (unsigned i = 0; i < PROVEN; i++) {
        open_sample(i, "boxes");
    }
    ck_assert_uint_eq(beside_rules(SET), 2);
    ck_assert_uint_gt(beside_path(SET, 1, "/d/images/x.jpg", path), 1);
    ck_assert_str_eq(path, "/d/boxes/x.png");
}
END_TEST

/* It is known, so that it is not learned again. */
START_TEST(a_refuted_rule_is_never_used_again)
{
    for (unsigned i = 0; i < 3 * PROVEN; i++) {
        open_sample(i, "masks");
        if (i == PROVEN) {
            beside_refute(SET, 0);
        }
    }
    ck_assert_uint_eq(beside_rules(SET), 1);
    ck_assert_uint_eq(beside_path(SET, 0, "/d/images/x.jpg", path), 1);
}
END_TEST

START_TEST(files_without_a_rule)
{
    for (unsigned i = 0; i < 100; i++) {
        open_pair(i, "labels", 5);
        open_pair(i, "drawn", i * 71 % 100 + 100);
        ck_assert(beside_add(SET, "/d/images/1.jpg", sizeof "/d/images/1.jpg"));
    }
    ck_assert_uint_eq(beside_rules(SET), 0);
    ck_assert(!beside_add(SET, "", 0));
    ck_assert(!beside_add(SET, "/d", 2)); /* without its zero */
    ck_assert_uint_eq(beside_path(SET + 1, 0, "/d/images/x.jpg", path), 1);
}
END_TEST

START_TEST(no_more_rules_and_no_more_data_sets)
{
    char directory[16];
    for (unsigned kind = 0; kind < 2 * BESIDE_RULES; kind++) {
        snprintf(directory, sizeof directory, "%u", kind);
        for (unsigned i = 0; i < PROVEN; i++) {
            open_sample(i, directory);
        }
    }
    ck_assert_uint_eq(beside_rules(SET), BESIDE_RULES);
    for (unsigned i = 1; i <= 2 * BESIDE_SETS; i++) {
        ck_assert(beside_add(SET + i, "/a\0/b", sizeof "/a\0/b"));
    }
}
END_TEST

Suite *suite_beside(void)
{
    Suite *suite = suite_create("beside");
    TCase *all = unit_case(suite, "beside");
    tcase_add_test(all, several_samples_show_a_rule);
    tcase_add_test(all, a_refuted_rule_is_never_used_again);
    tcase_add_test(all, files_without_a_rule);
    tcase_add_test(all, no_more_rules_and_no_more_data_sets);
    return suite;
}
