/* cli/ahead/orders/pace.c */
#include "tests/unit/unit.h"

#include "base/clock.h"
#include "cli/ahead/orders/pace.h"

#define MOST 256

static struct request_pace pace;
static int64_t now_ns;

/* Lets files come for so many seconds, from an origin that serves as many requests at a time as
 * `wide` says, each in 10 ms. */
static void read_for(unsigned seconds, unsigned wide)
{
    int64_t until_ns = now_ns + (int64_t)seconds * STK_NS_PER_S;
    while (now_ns < until_ns) {
        unsigned served = pace.allowed < wide ? pace.allowed : wide;
        now_ns += STK_NS_PER_S / 100 / (int64_t)served;
        pace_note_file(&pace, now_ns);
    }
}

static void begin(unsigned allowed)
{
    now_ns = STK_NS_PER_S;
    pace_begin(&pace, allowed, 2, MOST);
}

START_TEST(more_while_that_is_rewarded)
{
    begin(8);
    read_for(10, 1000);
    ck_assert_uint_ge(pace.allowed, MOST / 2);
}
END_TEST

START_TEST(no_more_than_the_origin_serves)
{
    begin(8);
    read_for(10, 20);
    ck_assert_uint_ge(pace.allowed, 18);
    ck_assert_uint_le(pace.allowed, 45);
}
END_TEST

START_TEST(again_when_the_origin_serves_more)
{
    begin(8);
    read_for(10, 20);
    read_for(20, 1000);
    ck_assert_uint_ge(pace.allowed, MOST / 2);
}
END_TEST

/* Each request makes all others slower. */
START_TEST(fewer_where_more_are_slower)
{
    begin(64);
    for (int i = 0; i < 20000; i++) {
        now_ns += STK_NS_PER_S / 1000 * pace.allowed / 16;
        pace_note_file(&pace, now_ns);
    }
    ck_assert_uint_le(pace.allowed, 8);
}
END_TEST

START_TEST(rounds_with_nothing_to_read_say_nothing)
{
    begin(8);
    for (int i = 0; i < 10000; i++) {
        now_ns += STK_NS_PER_S / 1000;
        pace_note_idle(&pace);
        pace_note_file(&pace, now_ns);
    }
    ck_assert_uint_eq(pace.allowed, 8);
}
END_TEST

Suite *suite_pace(void)
{
    Suite *suite = suite_create("pace");
    TCase *all = unit_case(suite, "pace_of_requests");
    tcase_add_test(all, more_while_that_is_rewarded);
    tcase_add_test(all, no_more_than_the_origin_serves);
    tcase_add_test(all, again_when_the_origin_serves_more);
    tcase_add_test(all, fewer_where_more_are_slower);
    tcase_add_test(all, rounds_with_nothing_to_read_say_nothing);
    return suite;
}
