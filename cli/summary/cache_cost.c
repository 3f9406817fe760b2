#include "cli/summary/cache_cost.h"

#include <stdbool.h>

#include "cli/os/open_time.h"

double cache_cost_s(const struct stk_tier *tier, const struct stk_run_counts *counts)
{
    static bool measured;
    static struct open_cost cost;
    double opens = (double)counts->blocks[STK_BLOCK_READS];
    double bytes = (double)counts->blocks[STK_BLOCK_BYTES_CACHE];
    for (int epoch = 0; epoch < STK_RUN_EPOCHS; epoch++) {
        opens += (double)counts->epochs[epoch][STK_COUNT_HITS];
        bytes += (double)counts->epochs[epoch][STK_COUNT_BYTES_CACHE];
    }
    if (!measured && tier->shared != NULL) {
        cost = open_time_of_tier(tier->home);
        measured = true;
    }
    return (opens * (double)cost.open_ns + bytes * cost.byte_ns) / 1e9;
}
