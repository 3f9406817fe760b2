/* Prints a run's counters as JSON, for the tests: counters FILE. */
#include <inttypes.h>
#include <stdio.h>

#include "cache/run/run.h"

static uint64_t total(const struct stk_run_counts *counts, enum stk_count kind)
{
    uint64_t sum = 0;
    for (int epoch = 0; epoch < STK_RUN_EPOCHS; epoch++) {
        sum += counts->epochs[epoch][kind];
    }
    return sum;
}

int main(int argc, char **argv)
{
    static struct stk_run run;
    static struct stk_run_counts counts;
    if (argc != 2 || stk_run_open(&run, argv[1]) != 0) {
        return 1;
    }
    stk_run_read(&run, &counts);
    printf("{\"opens\": %" PRIu64 ", \"hits\": %" PRIu64 ", \"fills\": %" PRIu64
           ", \"stats_served\": %" PRIu64 ", \"stats_asked\": %" PRIu64,
           total(&counts, STK_COUNT_OPENS), total(&counts, STK_COUNT_HITS),
           total(&counts, STK_COUNT_FILLS), counts.stats_served, counts.stats_asked);
    for (int why = STK_BYPASS_NONE + 1; why < STK_BYPASS_KINDS; why++) {
        printf(", \"%s\": %" PRIu64, stk_bypass_name((enum stk_bypass)why), counts.bypassed[why]);
    }
    printf("}\n");
    return 0;
}
