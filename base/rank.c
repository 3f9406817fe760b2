/* Reads the variables of launchers, and gives rows to ranks by compare and swap. */
#include "base/rank.h"

#include <stdlib.h>

#include "base/text.h"

#define MOST 999999999 /* a larger number is no rank */

static int parse(const char *value)
{
    uint64_t number;
    bool is_rank = stk_text_take_number(&value, &number) && *value == '\0' && number <= MOST;
    return is_rank ? (int)number : STK_RANK_NONE;
}

/* The first variable that is set counts. A shell of SLURM's has SLURM_PROCID, so torchrun's own
 * variable comes before it. */
int stk_rank_own(void)
{
    static const char *const names[] = {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
                                        "LOCAL_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL) {
            return parse(value);
        }
    }
    return STK_RANK_NONE;
}

int stk_ranks_row(struct stk_ranks *ranks, int rank)
{
    for (int row = 0; rank >= 0 && row < STK_RANKS; row++) {
        uint32_t seen = 0, wanted = (uint32_t)rank + 1;
        if (atomic_compare_exchange_strong(&ranks->rows[row], &seen, wanted) || seen == wanted) {
            return row;
        }
    }
    return STK_RANK_NONE;
}

int stk_ranks_at(const struct stk_ranks *ranks, unsigned row)
{
    uint32_t rank = atomic_load(&ranks->rows[row]);
    return rank > 0 ? (int)(rank - 1) : STK_RANK_NONE;
}
