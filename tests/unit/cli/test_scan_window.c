/* cli/ahead/trees/scan_window.c */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "cli/ahead/trees/scan_window.h"

#define COUNT 200

static char texts[COUNT][8];
static const char *by_name[COUNT], *as_listed[COUNT];
static struct scan_names names = {.in = {by_name, as_listed}, .count = COUNT};
static struct scan scan;

/* The listing's sorting is that of the names from the end, but for the last one. */
static void begin(void)
{
    for (unsigned i = 0; i < COUNT; i++) {
        snprintf(texts[i], sizeof texts[i], "d%04u", i);
        by_name[i] = texts[i];
        as_listed[i == COUNT - 1 ? i : COUNT - 2 - i] = texts[i];
    }
}

static bool has(unsigned sorting, unsigned from, unsigned to)
{
    return scan.from[sorting] == from && scan.to[sorting] == to;
}

START_TEST(both_orders_at_first)
{
    begin();
    ck_assert(scan_go_on(&scan, &names, "d0100"));
    ck_assert(has(SCAN_BY_NAME, 101, 109) && has(SCAN_AS_LISTED, 99, 107));
    ck_assert(!scan_go_on(&scan, &names, "d0105")); /* is being listed */
    ck_assert(!scan_go_on(&scan, &names, "d0095"));
}
END_TEST

START_TEST(the_order_that_is_followed)
{
    begin();
    ck_assert(scan_go_on(&scan, &names, by_name[0]));
    ck_assert(scan_go_on(&scan, &names, by_name[9]));
    ck_assert(has(SCAN_BY_NAME, 10, 26) && has(SCAN_AS_LISTED, 0, 0));
    ck_assert(scan_go_on(&scan, &names, by_name[26]));
    ck_assert(has(SCAN_BY_NAME, 27, 59));
    ck_assert(scan_go_on(&scan, &names, by_name[59]) && has(SCAN_BY_NAME, 60, 124));
    ck_assert(scan_go_on(&scan, &names, by_name[124]) && has(SCAN_BY_NAME, 125, COUNT));
}
END_TEST

START_TEST(the_listings_order)
{
    begin();
    ck_assert(scan_go_on(&scan, &names, as_listed[50]));
    ck_assert(scan_go_on(&scan, &names, as_listed[59]));
    ck_assert(has(SCAN_AS_LISTED, 60, 76) && has(SCAN_BY_NAME, 0, 0));
}
END_TEST

START_TEST(no_order)
{
    unsigned listed = 0;
    begin();
    for (unsigned i = 0; i < COUNT; i++) {
        if (scan_go_on(&scan, &names, by_name[i * 77 % COUNT])) {
            for (unsigned sorting = 0; sorting < SCAN_SORTINGS; sorting++) {
                listed += scan.to[sorting] - scan.from[sorting];
            }
        }
    }
    ck_assert_uint_ge(listed, 16);
    ck_assert_uint_le(listed, 100); /* chance may look like a sorting for once */
}
END_TEST

START_TEST(a_name_that_is_not_there)
{
    begin();
    ck_assert(!scan_go_on(&scan, &names, "none"));
    ck_assert(scan_go_on(&scan, &names, by_name[COUNT - 1]));
    ck_assert(has(SCAN_BY_NAME, COUNT, COUNT) && has(SCAN_AS_LISTED, COUNT, COUNT));
}
END_TEST

Suite *suite_scan_window(void)
{
    Suite *suite = suite_create("scan_window");
    TCase *all = unit_case(suite, "scan_window");
    tcase_add_test(all, both_orders_at_first);
    tcase_add_test(all, the_order_that_is_followed);
    tcase_add_test(all, the_listings_order);
    tcase_add_test(all, no_order);
    tcase_add_test(all, a_name_that_is_not_there);
    return suite;
}
