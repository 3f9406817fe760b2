/*
 * Giving way: entries in a tmpfs are memory that nobody else can have, and the budget was computed
 * when the run began. When little is left for the job, nothing more is admitted; when very little
 * is left, entries go.
 *
 * Of memory, little is a twentieth of what the machine or the control group has, from 64 MiB to
 * 2 GiB; very little is half of that. Both are more by what the job may take while all entries go:
 * a thread takes 2 GB/s, and the kernel needs 10 us for an entry however small, so 20 KB for each,
 * up to 2 GiB. A group counts for its own processes alone: the verdict is one for each group, and
 * only entries that were charged to it go for its sake. Where no command watches, little is seven
 * eighths of a group's limit, and very little a quarter.
 * Of the file system where the job's shared memory lies (/dev/shm), 60 MiB or an eighth must
 * remain free: that is what PyTorch needs, and nearly all that Docker gives.
 *
 * Lock-free, no heap, safe everywhere.
 */
#ifndef STK_CACHE_PRESSURE_H
#define STK_CACHE_PRESSURE_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/tier.h"

/* What is little where this many bytes are there in all. */
int64_t stk_pressure_little(int64_t total_bytes);
/* How much of a shared memory of so many bytes must remain free. */
int64_t stk_pressure_floor(int64_t total_bytes);
/* Whether a file in `home` may grow by so many bytes: half of the floor must remain, if it lies in
 * the job's shared memory. */
bool stk_pressure_lets_grow(const char *home, int64_t bytes);

/* Whether this tier may take an entry of so many bytes. Looks at the memory itself ten times a
 * second and after every 16 MiB, for all processes of a group together: a fast disk fills what
 * little there is within a tenth of a second. Where no command watches, who finds very little left
 * gives some back. When the pressure ends, what it refused is tried again. */
bool stk_pressure_admits(const struct stk_tier *tier, int64_t bytes);
/* What a refusal for want of memory has of this group; not 0. */
uint32_t stk_pressure_mark(const struct stk_tier *tier);

/* Marks a draft as filled by this group, and counts it. */
void stk_pressure_sign(const struct stk_tier *tier, const char *path);

/* Whether memory is short now, for this process. Costs the reading of a few small files. */
bool stk_pressure_is_on(const struct stk_tier *tier);
/* How many bytes of entries should go now: of any, and of those of this group. */
struct stk_excess {
    int64_t any, own;
    int64_t each;  /* bytes that an entry counts beside its own */
    int64_t left;  /* what may be taken until some should go */
    uint32_t mark; /* of this group's */
};
/* True if any should. Costs the reading of a few small files. */
bool stk_pressure_excess(const struct stk_tier *tier, struct stk_excess *out);
/* Removes so many, whichever come first, and looks at no more than `most_looks` things; returns how
 * many bytes they took. */
uint64_t stk_pressure_give_back(const struct stk_tier *tier, const struct stk_excess *excess,
                                uint64_t most_looks);

#endif
