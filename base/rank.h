/*
 * Ranks: processes of one job to which a launcher gave numbers. A table of a fixed size says which
 * row of some counters belongs to which rank.
 *
 * Lock-free, without heap; safe in threads and after fork. A table may lie in shared memory.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define STK_RANKS     16 /* on one node that are counted apart */
#define STK_RANK_NONE (-1)

struct stk_ranks {
    _Atomic uint32_t rows[STK_RANKS]; /* the rank plus 1; 0: the row is free */
};

/* Returns the rank that a launcher gave this process in its environment, or STK_RANK_NONE. Knows
 * torchrun and its like, SLURM, Open MPI, MPICH, and launchers that give a rank of the node only.
 * As getenv, not safe beside setenv in another thread. */
int stk_rank_own(void);
/* Returns the row of a rank, which takes a free one if it has none; or STK_RANK_NONE if it is no
 * rank, or if no row is left. */
int stk_ranks_row(struct stk_ranks *ranks, int rank);
/* Returns the rank of a row, or STK_RANK_NONE if the row is free. */
int stk_ranks_at(const struct stk_ranks *ranks, unsigned row);
