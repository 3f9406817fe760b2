/* cli/ahead/orders/range_name.c */
#include "tests/unit/unit.h"

#include "cli/ahead/orders/range_name.h"

START_TEST(names_of_ranges)
{
    struct range_name range;
    ck_assert(range_name_parse("/a/b.h5//2048+100", &range));
    ck_assert_uint_eq(range.path_length, 7);
    ck_assert_uint_eq(range.offset, 2048);
    ck_assert_uint_eq(range.bytes, 100);
    ck_assert(!range.opened);
    ck_assert(range_name_parse("/a//0+1!", &range) && range.opened);
}
END_TEST

START_TEST(names_that_are_paths)
{
    static const char *const names[] = {"",
                                        "/a/b",
                                        "/a//b",
                                        "/a//",
                                        "/a//1",
                                        "/a//1+",
                                        "/a//1+0",
                                        "/a//1+2x",
                                        "/a//1+2!!",
                                        "/a//9223372036854775807+1",
                                        "/a//99999999999999999999+1"};
    struct range_name range;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        ck_assert_msg(!range_name_parse(names[i], &range), "%s", names[i]);
    }
}
END_TEST

START_TEST(a_window)
{
    ck_assert_uint_gt(range_window_bytes(), 0);
    ck_assert_uint_le(range_window_bytes(), 256 << 20);
}
END_TEST

Suite *suite_range_name(void)
{
    Suite *suite = suite_create("range_name");
    TCase *all = unit_case(suite, "range_name");
    tcase_add_test(all, names_of_ranges);
    tcase_add_test(all, names_that_are_paths);
    tcase_add_test(all, a_window);
    return suite;
}
