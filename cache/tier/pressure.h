/*
 * Entries give way to the job. Entries in a tmpfs take memory that the job may need, and the budget
 * was computed when the run began. When little memory is left, no entry is admitted; when very
 * little is left, entries are removed.
 *
 * Little is a twentieth of the memory of the machine or the control group, from 64 MiB to 2 GiB
 * (base/memory.h); very little is half of that. Both rise by what the job may take while all
 * entries go. A thread takes 2 GB/s, and the kernel needs 10 us for an entry however small. So both
 * rise by 20 KB for each entry, up to 2 GiB. A control group counts for its own processes alone:
 * each group has one verdict, and only entries that were charged to a group are removed for it.
 * Where no command watches, little is seven eighths of a group's limit, and very little a quarter.
 *
 * In the file system of the job's shared memory, the floor must remain free
 * (cache/catalogue/shm_floor.h).
 *
 * Lock-free, no heap; safe in threads, after fork and in signal handlers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cache/tier/tier.h"

/* Returns true if this tier may take an entry of so many bytes. One process of a group looks at the
 * memory ten times a second and after every 16 MiB, for all of the group. The bytes count because a
 * fast disk fills a small rest within a tenth of a second. Where no command watches, the process
 * that finds very little left removes some entries. When the pressure ends, refused files are tried
 * again. */
bool stk_pressure_admits(const struct stk_tier *tier, int64_t bytes);
/* Returns the mark of this group in a refusal for want of memory; not 0. */
uint32_t stk_pressure_mark(const struct stk_tier *tier);

/* Marks a draft as filled by this group, and counts it. */
void stk_pressure_sign(const struct stk_tier *tier, const char *path);

/* Returns true if memory is short now for this process. Reads a few small files. */
bool stk_pressure_is_on(const struct stk_tier *tier);
/* How many bytes of entries should be removed now: of any entries, and of this group's. */
struct stk_excess {
    int64_t any, own;
    int64_t each;  /* bytes that an entry counts beyond its size */
    int64_t left;  /* what the job may take before entries should be removed */
    uint32_t mark; /* of this group's entries */
};
/* Returns true if any entry should be removed. Reads a few small files. */
bool stk_pressure_excess(const struct stk_tier *tier, struct stk_excess *out);
/* Removes entries of so many bytes, in the order of a walk, and looks at no more than `most_looks`
 * files. Returns how many bytes they took. */
uint64_t stk_pressure_give_back(const struct stk_tier *tier, const struct stk_excess *excess,
                                uint64_t most_looks);
