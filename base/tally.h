/*
 * Counts what a run's Python processes decode, in a small file beside the run's own. The command
 * makes and reads the file; the wrappers, which know nothing of the cache, map it. By this file the
 * command also gives them the size to which the sample store may grow.
 *
 * Counting is one atomic addition in shared memory: safe in threads, after fork and in signal
 * handlers. A tally that cannot be mapped is not counted in, and nothing else happens.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rank.h"

/* The counters (tally.def): first the images decoded by the package, then those left to Pillow. */
enum stk_tally_slot {
#define COUNTER(slot, name, meaning) STK_TALLY_##slot,
#include "base/tally.def"
#undef COUNTER
    STK_TALLY_SLOTS,
    STK_TALLY_REASONS = STK_TALLY_RESIZED /* behind the last of them */,
    STK_TALLY_BATCH_REASONS = STK_TALLY_BATCH_KIND,
    STK_TALLY_BATCH_REASONS_END = STK_TALLY_BATCH_ROOM + 1
};

/* Bounds on what is counted of passes. The loaders of a process are counted in the order in which
 * they were begun, each together with its namesake in another process (a rank). Further loaders and
 * passes are counted in the last one. */
#define STK_TALLY_LOADERS 4
#define STK_TALLY_PASSES  32

/* One pass over a DataLoader, as seen by the process that takes the batches. Times are
 * CLOCK_MONOTONIC's. */
struct stk_tally_pass {
    uint64_t begun_ns, ended_ns; /* of the first of the processes, of the last */
    uint64_t lasted_ns;          /* of all processes, added up; as are these: */
    uint64_t waited_ns;          /* for a batch */
    uint64_t samples, batches;
    uint64_t expected; /* batches; 0: unknown */
    uint64_t begins;   /* how many processes, or loaders one after the other, have begun it */
    uint64_t workers;  /* of all processes */
};

/* The sum of all passes of the processes of one rank. */
struct stk_tally_rank {
    uint64_t lasted_ns, waited_ns, samples, batches; /* as of a pass */
};

struct stk_tally;

/* Writes the path of the tally that belongs to a run's file. Returns false if it does not fit. */
bool stk_tally_path(char *out, size_t bytes, const char *run);
/* Makes an empty tally, for this user alone. Returns 0 or -errno. */
int stk_tally_create(const char *path);
/* Maps a tally for good. Returns NULL if it is not there, or no tally of this version. */
struct stk_tally *stk_tally_open(const char *path);
/* Copies a tally's present content, for a reader only. Returns the copy, for stk_tally_close, or
 * NULL. */
struct stk_tally *stk_tally_look(const char *path);

void stk_tally_add(struct stk_tally *tally, enum stk_tally_slot slot, uint64_t count);
uint64_t stk_tally_read(const struct stk_tally *tally, enum stk_tally_slot slot);

/* Makes and reads the grant: the room that the command gives the run's processes in the sample
 * store, at the moment. The command makes it for the store that it named by this value of
 * STOKER_DECODED, in its own pid namespace. stk_tally_read_grant returns false if the store is
 * not the command's. Then the store is used only where the user has asked for it, and its budget is
 * what the value says. */
void stk_tally_grant(struct stk_tally *tally, const char *samples, uint64_t budget_bytes);
bool stk_tally_read_grant(const struct stk_tally *tally, const char *samples, uint64_t *out);
/* Takes back the room that is not used yet, since no command watches over it any more. */
void stk_tally_revoke(struct stk_tally *tally);
/* Unmaps a tally. No other thread may use it. */
void stk_tally_close(struct stk_tally *tally);
/* Asks the command to look soon whether more can be granted. Cheap if it was asked already. */
void stk_tally_ask(struct stk_tally *tally);
/* Waits so long, or until the command is asked; returns true if it was. For the command. */
bool stk_tally_wait(struct stk_tally *tally, int64_t limit_ns);

/* Begin a pass for one process, with begun_ns, expected and workers of `begin`; and go on with it,
 * with ended_ns of `step` and what the step adds, for the rank too (base/rank.h). */
void stk_tally_begin_pass(struct stk_tally *tally, unsigned loader, unsigned number,
                          const struct stk_tally_pass *begin);
void stk_tally_add_pass(struct stk_tally *tally, unsigned loader, unsigned number, int rank,
                        const struct stk_tally_pass *step);
void stk_tally_read_pass(const struct stk_tally *tally, unsigned loader, unsigned number,
                         struct stk_tally_pass *out);
/* Adds up the times, samples and batches of all passes of all loaders. NULL: there is no tally. */
void stk_tally_read_all_passes(const struct stk_tally *tally, struct stk_tally_pass *out);

/* Reads what the rank of this row, below STK_RANKS, took. Returns the rank, or STK_RANK_NONE,
 * without times, if no rank has the row or there is no tally. */
int stk_tally_read_rank(const struct stk_tally *tally, unsigned row, struct stk_tally_rank *out);

/* Bounds on what is kept of the job's own calls, by their names. Calls of further names are not
 * counted. */
#define STK_TALLY_CALLS     16
#define STK_TALLY_CALL_NAME 64

/* A function of the job's that runs as it is, such as a transform that Stoker does not know. */
struct stk_tally_call {
    char name[STK_TALLY_CALL_NAME]; /* ended by a zero; a longer one is cut */
    uint64_t ns;                    /* of all its calls, in all processes */
};

/* Adds the time of a call. Safe in threads and after fork; not in signal handlers. */
void stk_tally_add_call(struct stk_tally *tally, const char *name, uint64_t ns);
/* Reads the call of this number. Returns false if there is none, or no tally. */
bool stk_tally_read_call(const struct stk_tally *tally, unsigned number,
                         struct stk_tally_call *out);

/* Returns the version of a Python that the package is not for, as 310 for 3.10; 0: none was seen.
 * The Python writes its version itself (wrappers/python/sitecustomize.py). */
unsigned stk_tally_refused_python(const struct stk_tally *tally);

/* Return the slot's name in the summary and in --json, and its meaning for people. */
const char *stk_tally_name(enum stk_tally_slot slot);
const char *stk_tally_meaning(enum stk_tally_slot slot);
