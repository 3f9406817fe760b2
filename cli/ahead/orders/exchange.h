/*
 * Exchanges files in a tier that is full: a file that the job has just opened goes, and makes room
 * for one that the job is going to open. In no order is a file wanted later than the one that was
 * opened last. So the files that stay are those that the pass has not come to, and all of them are
 * hits.
 *
 * Each file that is there before its turn gets a note. Once the job has opened the file, it may go,
 * unless a process has it open: what it takes would not be free. Only tiers in memory are
 * exchanged. A disk would be written all the time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cache/cache.h"
#include "cli/ahead/orders/order_queue.h"

/* Call it before any thread. The cache must stay, and counts by the job's run. */
void exchange_begin(struct stk_cache *cache);
/* Notes that the file of that turn is there, as this record's `entry`. `opens`: how often the job
 * had opened it before its turn. */
void exchange_note(const struct order_turn *turn, uint32_t record, unsigned opens,
                   const char *entry);

/* Drops files that may go, the oldest first, until a tier has room for so many bytes. Returns true
 * if it has. Then the room is promised to the caller, until exchange_end_promise(). */
bool exchange_make_room(uint64_t bytes);
void exchange_end_promise(uint64_t bytes);
/* Returns true if files had to go. From then on a file that the job has opened may be absent. */
bool exchange_is_on(void);
