/* Removes homes with all their contents: of dead runs, of ended ones, and for `stoker clear`. Each
 * step that decides about other runs (cli/run/live_runs.h) happens under HOME/lock. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cache/catalogue/catalogue.h"

/* Removes leftovers of dead runs. Returns true if there were any. */
bool removal_sweep(void);
/* Removes leftovers in this home before jobs without the command begin. Does nothing if another
 * stoker holds the lock. */
void removal_try_sweep(const char *home);

/* The outcome of a removal. */
struct removed_homes {
    unsigned live;   /* runs that use the cache: then nothing is removed */
    bool used;       /* programs without a run use it: then nothing is removed, either */
    unsigned homes;  /* removed */
    unsigned failed; /* that could not be removed completely */
};
/* The files that went with one home. */
struct removed_home {
    const char *home;
    uint64_t files, blocks; /* blocks of STK_BLOCK_BYTES */
};
/* Removes everything in memory and in all known tiers, or the tier in the directory `only`, unless
 * it is in use. Calls `tell` for each home that went. */
struct removed_homes removal_remove_all(const char *only,
                                        void (*tell)(const struct removed_home *home));
/* Returns how many files removal_remove_all() has removed so far. Any thread may call it. */
uint64_t removal_files(void);

/* The end of a run user's home (cli/run/run_users.h): removed, kept by the user, or still in use.
 */
enum removal_user { REMOVAL_USER_GONE, REMOVAL_USER_KEPT, REMOVAL_USER_USED };
/* Removes a run user's home with the user's entries in memory, if it was kept for root's run alone
 * and no process uses it. If a run of the user's own uses it, the home goes with that run. Call it
 * in a process of that user. */
enum removal_user removal_end_run_user(const char *home);

/* ---- for cli/run/session.h ---- */

/* Returns true if the home may be removed with all its contents. It must be named for its user, as
 * every home is, and no other user may have been able to write into it. */
bool removal_is_allowed(const char *home);
/* Removes a run's file and its tally. Processes that outlive their run see by the tally that
 * nothing is reserved for them any more. */
void removal_unlink_run(const char *path);
/* Removes dead runs' files, and everything in memory if no run or process uses it and it is not
 * kept. Call it under the lock. Returns true if there were dead runs. */
bool removal_sweep_locked(const char *home);
/* Removes the homes of the tiers in memory, and the catalogue. See join_kept() in
 * cache/cache_core.c for processes that keep them. Call it under the lock. */
void removal_empty_memory(struct stk_catalogue *catalogue, const char *home);
