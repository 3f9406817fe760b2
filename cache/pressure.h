/*
 * Giving way under memory pressure: entries in a tmpfs are memory that nobody else can have, and
 * the budget was computed when the run began. When little is left for the job, nothing more is
 * admitted; when very little is left, entries go.
 *
 * Little is a twentieth of what the machine or the control group has, from 64 MiB to 2 GiB; very
 * little is half of that. Lock-free, no heap, safe everywhere.
 */
#ifndef STK_CACHE_PRESSURE_H
#define STK_CACHE_PRESSURE_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/catalogue.h"

/* What is little where this many bytes are there in all. */
int64_t stk_pressure_little(int64_t total_bytes);

/* Whether this tier may take an entry of so many bytes. Looks at the memory itself ten times a
 * second and after every 16 MiB, for all processes together: a fast disk fills what little there
 * is within a tenth of a second. When the pressure ends, what it refused is tried again. */
bool stk_pressure_admits(struct stk_tier_shared *tier, int64_t bytes);

/* Whether memory is short now. Costs the reading of a few small files. */
bool stk_pressure_is_on(void);

/* How many bytes of entries should go now; 0: none. Costs the reading of a few small files. */
int64_t stk_pressure_excess(void);

#endif
