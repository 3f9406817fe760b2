#include "tests/unit/cli/made_run.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tests/unit/unit.h"

#define RUN_S 100

struct made_run made;

void made_begin(void)
{
    memset(&made, 0, sizeof made);
    made.session.tier.shared = &made.tier;
    made.request.count = 1;
    made.request.spelled[0] = strdup("/data/my set");
    const char *path = unit_path("tally");
    ck_assert_int_eq(stk_tally_create(path), 0);
    made.session.tally = stk_tally_open(path);
    ck_assert_ptr_nonnull(made.session.tally);
}

void made_end(void)
{
    stk_tally_close(made.session.tally);
    free(made.request.spelled[0]);
}

void made_pass(unsigned number, uint64_t lasted_s, double waited_s, uint64_t workers)
{
    uint64_t begun_ns = (1 + number) * 1000 * (uint64_t)STK_NS_PER_S;
    uint64_t lasted_ns = lasted_s * (uint64_t)STK_NS_PER_S;
    const struct stk_tally_pass begin = {.begun_ns = begun_ns, .expected = 10, .workers = workers};
    const struct stk_tally_pass step = {.ended_ns = begun_ns + lasted_ns,
                                        .lasted_ns = lasted_ns,
                                        .waited_ns = (uint64_t)(waited_s * 1e9),
                                        .samples = 100,
                                        .batches = 10};
    stk_tally_begin_pass(made.session.tally, 0, number, &begin);
    stk_tally_add_pass(made.session.tally, 0, number, STK_RANK_NONE, &step);
}

void made_opens(unsigned epoch, uint64_t opens, uint64_t hits, double waited_s)
{
    uint64_t *row = made.counts.epochs[epoch];
    row[STK_COUNT_OPENS] = opens;
    row[STK_COUNT_HITS] = hits;
    row[STK_COUNT_FILLS] = opens - hits;
    row[STK_COUNT_WAIT_NS] = (uint64_t)(waited_s * 1e9);
}

void made_tally_s(enum stk_tally_slot slot, double seconds)
{
    stk_tally_add(made.session.tally, slot, (uint64_t)(seconds * 1e9));
}

void made_figures(void)
{
    figures_gather(&made.figures, &made.request, &made.session, &made.counts, &made.times, RUN_S);
}
