#include <string.h>

#include "base/clock.h"
#include "cli/top/top.h"
#include "tests/unit/cli/made_run.h"
#include "tests/unit/unit.h"

static struct top_run run;
static struct top_look look;

static void rank_waits(int rank, double waited_s)
{
    const struct stk_tally_pass step = {.lasted_ns = 20 * (uint64_t)STK_NS_PER_S,
                                        .waited_ns = (uint64_t)(waited_s * 1e9),
                                        .samples = 100,
                                        .batches = 10};
    stk_tally_add_pass(made.session.tally, 0, 0, rank, &step);
}

/* Returns the page's line that begins so, or NULL. The page is the caller's. */
static const char *line_of(struct top_page *page, const char *begin)
{
    made_figures();
    run.session = made.session;
    run.figures = made.figures;
    look = (struct top_look){.count = 1, .living = 1, .runs = {&run}};
    top_page(page, &look, NULL, 80, 0);
    for (unsigned i = 0; i < page->count; i++) {
        if (strncmp(page->lines[i], begin, strlen(begin)) == 0) {
            return page->lines[i];
        }
    }
    return NULL;
}

START_TEST(the_rank_that_waited_longest)
{
    struct top_page page = {.count = 0};
    rank_waits(0, 0.5);
    ck_assert_ptr_null(line_of(&page, "  ranks"));
    rank_waits(3, 12);
    rank_waits(2, 1.5);
    ck_assert_str_eq(line_of(&page, "  ranks"),
                     "  ranks    3; rank 3 waited longest for data, 12.0 s (median 1.5 s)");
    top_page_free(&page);
}
END_TEST

START_TEST(all_ranks_that_are_counted)
{
    struct top_page page = {.count = 0};
    for (int rank = 0; rank < STK_RANKS; rank++) {
        rank_waits(rank, rank);
    }
    ck_assert_ptr_nonnull(strstr(line_of(&page, "  ranks"), "16; rank 15 waited longest"));
    top_page_free(&page);
}
END_TEST

START_TEST(ranges_of_big_files_have_a_line_beside_that_of_files)
{
    struct top_page page = {.count = 0};
    uint64_t *ahead = run.view.counts.ahead;
    ck_assert_ptr_null(line_of(&page, "  ahead"));
    ahead[STK_AHEAD_RANGES] = 1577;
    ahead[STK_AHEAD_RANGE_BYTES] = 150 << 20;
    ck_assert_str_eq(line_of(&page, "  ahead"),
                     "  ahead    1577 ranges of big files read (150 MiB), by the page cache");
    ahead[STK_AHEAD_FILES] = 1;
    ck_assert_ptr_nonnull(strstr(line_of(&page, "  ahead    1 file read"), "ahead"));
    ck_assert_ptr_nonnull(line_of(&page, "  ahead    1577 ranges"));
    top_page_free(&page);
}
END_TEST

Suite *suite_top_page(void)
{
    Suite *suite = suite_create("top_page");
    TCase *tcase = unit_case(suite, "top_page");
    tcase_add_checked_fixture(tcase, made_begin, made_end);
    tcase_add_test(tcase, the_rank_that_waited_longest);
    tcase_add_test(tcase, all_ranks_that_are_counted);
    tcase_add_test(tcase, ranges_of_big_files_have_a_line_beside_that_of_files);
    return suite;
}
