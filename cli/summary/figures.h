/* The meaning of a run's counters: epochs, where the time went, what holds the job up. Everything
 * that the summary says is worked out here, and --json has it as well. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cache/run/run.h"
#include "cli/args/request.h"
#include "cli/run/run_users.h"
#include "cli/run/session.h"
#include "cli/summary/sampler.h"

/* One pass over a DataLoader, or all passes but the first; or the n-th opens of files. */
struct stretch {
    double seconds;  /* of wall time; 0: too short to measure */
    double lasted_s; /* the sum of all processes */
    double waited_s; /* part of `seconds` that the consuming process waited for batches; the mean if
                        there are several */
    uint64_t count;  /* samples of all processes; or files */
    uint64_t batches, processes, workers; /* workers of all processes */
};

/* The largest part of the time of making batches. Or the job's steps waited longer for uploads than
 * for batches, or for workers that each epoch starts anew. */
enum bound {
    BOUND_UNKNOWN,
    BOUND_NOT,
    BOUND_FETCH,
    BOUND_DECODE,
    BOUND_BATCH,
    BOUND_OTHER,
    BOUND_UPLOAD,
    BOUND_START
};

struct figures {
    const struct request *request;
    const struct session *session;
    const struct stk_run_counts *counts;
    const struct epoch_times *times;
    double run_s;
    const struct run_users *run_users; /* NULL while it runs */
    int status;                        /* the command's, as waitpid gave it; 0 while it runs */
    int64_t memory_kills;              /* meanwhile, or ENDING_UNKNOWN: cli/os/ending.h */
    bool outlived;                     /* nothing was served, and processes of the command go on */
    uint64_t total[STK_COUNT_KINDS];
    unsigned opened; /* the most opens of any file */
    uint64_t there;  /* files that were in the cache when they were first opened */
    /* Bytes that the job read from the cache, and all that it read, if most were read from big
     * files, by blocks; else 0. A file that was opened whole counts with its size. */
    uint64_t read_cached_bytes, read_bytes;
    bool mapped; /* these are bytes of maps */

    bool by_passes;  /* false: the stretches are first opens, and later ones */
    unsigned loader; /* the one with the most samples */
    unsigned passes; /* of that loader, or `opened` */
    unsigned
        epochs; /* as `passes`, but each epoch that is counted together with the last pass counts */
    struct stretch first, later;

    /* Seconds, summed over all processes. */
    double origin_s; /* opens that waited for the origin */
    double decode_s, resize_s, collate_s;
    double fetch_s;  /* making batches, including the above if done for batches */
    double cache_s;  /* opening and reading what is cached */
    double other_s;  /* rest of fetch_s: the job's own transforms */
    double upload_s; /* steps held up while stoker.Loader sends to a GPU */
    double start_s;  /* first batches of new workers in later epochs, beyond the time of a usual
                        batch */
    enum bound bound;
};

void figures_gather(struct figures *out, const struct request *request,
                    const struct session *session, const struct stk_run_counts *counts,
                    const struct epoch_times *times, double run_s);
/* Works out one pass of a loader. Its processes are 0 if there was no such pass. */
void figures_pass(const struct session *session, unsigned loader, unsigned number,
                  struct stretch *out);
/* Returns the seconds from the first to the last of the n-th opens, n from 0. */
double figures_opens_s(const struct epoch_times *times, unsigned epoch);
/* Writes of how many files the opens were, if that is known: " of 3 files", " of 1 file", or "".
 * Returns the buffer. */
#define FIGURES_FILES_TEXT 48
const char *figures_files_text(char out[FIGURES_FILES_TEXT], const struct stk_run_counts *counts);
/* Returns the part from the cache in percent: of the opens, or of the bytes if these say more. */
double figures_percent(const struct figures *figures);
/* Returns the later epochs if there are any, else the first. */
const struct stretch *figures_latest(const struct figures *figures);
/* Returns the part of these epochs that their steps were held up by uploads, from 0 to 1, as far as
 * their samples say. */
double figures_upload_part(const struct figures *figures);
/* Returns how many files before what workers were asked for files came, on average; 0: none did. */
uint64_t figures_lead(const struct figures *figures);
/* Returns what the threads that read ahead waited for most: one of the kinds that end in _NS, or
 * FILES if no file was read ahead. */
enum stk_ahead_count figures_ahead_limit(const struct figures *figures);
/* Returns the name of a limit in --json. */
const char *figures_limit_name(enum stk_ahead_count limit);
/* Returns what a line for people ends with: "; limit: storage". "" if all was read that the loader
 * had named: nothing on this machine is in the way then. */
const char *figures_limit_text(enum stk_ahead_count limit);
/* Returns the part of `origin_s` that first opens of files waited. */
double figures_first_origin_s(const struct figures *figures);
/* Finds the transform that took the longest of those that Stoker does not make. Returns its
 * seconds, and 0 if there is none. */
double figures_heaviest_call(const struct session *session, struct stk_tally_call *out);

/* Return a counter, or 0 without a tally. */
uint64_t figures_tallied(const struct session *session, enum stk_tally_slot slot);
uint64_t figures_left_to_pillow(const struct session *session);
uint64_t figures_left_to_torch(const struct session *session);
/* Returns the name of a bound in --json. */
const char *figures_bound_name(enum bound bound);
/* Returns one line for the user, which begins with a verb or with a finding. The caller frees. */
char *figures_advice(const struct figures *figures);
/* Writes the line of figures_advice and further advice. Returns how many lines; the caller frees
 * each. */
#define FIGURES_SUGGESTIONS 6
unsigned figures_suggest(const struct figures *figures, char *out[FIGURES_SUGGESTIONS]);
