/* cache/origin/buffer.c */
#include "tests/unit/unit.h"

#include <stdlib.h>

#include "cache/origin/buffer.h"

#define THREADS STK_BUFFERS_KEPT /* that copy at a time */

static int by_address(const void *one, const void *other)
{
    uintptr_t a = (uintptr_t) * (char *const *)one, b = (uintptr_t) * (char *const *)other;
    return (a > b) - (a < b);
}

/* Takes as many buffers, each with a mark, and gives them back. */
static void take_all(char *buffers[THREADS], char mark)
{
    for (int i = 0; i < THREADS; i++) {
        buffers[i] = stk_buffer_take();
        ck_assert_ptr_nonnull(buffers[i]);
        ck_assert(mark == 1 || buffers[i][0] == 1); /* touched: no page of it is made anew */
        buffers[i][0] = mark;
    }
    for (int i = 0; i < THREADS; i++) {
        stk_buffer_put(buffers[i]);
    }
    qsort(buffers, THREADS, sizeof *buffers, by_address);
}

START_TEST(as_many_as_were_used_stay)
{
    char *first[THREADS], *second[THREADS];
    take_all(first, 1);
    take_all(second, 2);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_ptr_eq(first[i], second[i]);
        ck_assert(i == 0 || first[i - 1] != first[i]);
    }
}
END_TEST

START_TEST(no_more_than_that_stay)
{
    char *taken[THREADS + 1];
    for (int i = 0; i <= THREADS; i++) {
        taken[i] = stk_buffer_take();
        taken[i][0] = 1;
    }
    for (int i = 0; i <= THREADS; i++) {
        stk_buffer_put(taken[i]);
    }
    for (int i = 0; i <= THREADS; i++) {
        taken[i] = stk_buffer_take();
    }
    ck_assert_int_eq(taken[THREADS - 1][0], 1);
    ck_assert_int_eq(taken[THREADS][0], 0); /* mapped anew */
}
END_TEST

Suite *suite_buffer(void)
{
    Suite *suite = suite_create("buffer");
    TCase *all = unit_case(suite, "buffer");
    tcase_add_test(all, as_many_as_were_used_stay);
    tcase_add_test(all, no_more_than_that_stay);
    return suite;
}
