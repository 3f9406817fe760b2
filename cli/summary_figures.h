/* What a run's counters come to: epochs, where the time went, what holds the job up. Everything
 * that the summary says in words is worked out here, and written by --json as well. */
#ifndef STK_CLI_SUMMARY_FIGURES_H
#define STK_CLI_SUMMARY_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/run.h"
#include "cli/guests.h"
#include "cli/pulse.h"
#include "cli/request.h"
#include "cli/session.h"

/* One pass over a DataLoader, or all but the first; or the n-th opens of files. */
struct stretch {
    double seconds;  /* of wall time; 0: too short to be told */
    double lasted_s; /* the same, of all processes added up */
    double waited_s; /* of `seconds`, for batches, as the process sees it that takes them; of
                      * several processes the mean */
    uint64_t count;  /* samples of all processes; or files */
    uint64_t batches, processes, workers; /* workers of all processes */
};

/* What there is most of in the time of those who make batches; or the job's steps waited longer for
 * uploads than for them, or for workers that each epoch begins anew. */
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
    const struct pulse_figures *pulse;
    double run_s;
    const struct guests *guests; /* NULL while it runs */
    int status;                  /* the command's, as waitpid gave it; 0 while it runs */
    bool outlived; /* nothing was served, and processes that the command started go on */
    uint64_t total[STK_COUNT_KINDS];
    unsigned opened; /* how often a file was opened, at most */

    bool by_passes;  /* else the stretches are first opens, and later ones */
    unsigned loader; /* the one with the most samples */
    unsigned passes; /* of it, or `opened` */
    unsigned epochs; /* the same; but those that are counted together with the last pass, each */
    struct stretch first, later;

    /* Seconds, of all processes added up. */
    double origin_s; /* opens that waited for it */
    double decode_s, resize_s, collate_s;
    double fetch_s;  /* making batches, with what of the above was done for that */
    double other_s;  /* of it the rest: the job's own transforms, and reading what is cached */
    double upload_s; /* in which steps were held up by stoker.Loader's sending to a GPU */
    double start_s;  /* of new workers' first batches in later epochs, beyond what a batch takes */
    enum bound bound;
};

void figures_gather(struct figures *out, const struct request *request,
                    const struct session *session, const struct stk_run_counts *counts,
                    const struct pulse_figures *pulse, double run_s);
/* One pass of a loader; its processes are 0 where there was none. */
void figures_pass(const struct session *session, unsigned loader, unsigned number,
                  struct stretch *out);
/* How many epochs are counted together as the n-th pass, n from 0. */
unsigned figures_rounds(const struct figures *figures, unsigned n);
/* How long the n-th opens took from the first to the last, n from 0. */
double figures_opens_s(const struct pulse_figures *pulse, unsigned epoch);
/* Of how many files the opens were, as far as that is known: " of 3 files", " of 1 file", or "". */
#define FIGURES_FILES_TEXT 48
const char *figures_files_text(char out[FIGURES_FILES_TEXT], const struct stk_run_counts *counts);
/* The later epochs, if there are any; else the first. */
const struct stretch *figures_latest(const struct figures *figures);
/* How much of these their steps were held up by uploads, from 0 to 1: as far as their
 * samples tell. */
double figures_upload_part(const struct figures *figures);
/* Of `origin_s`, what first opens of files waited. */
double figures_first_origin_s(const struct figures *figures);
/* 0 where there is no tally. */
uint64_t figures_tallied(const struct session *session, enum stk_tally_slot slot);
uint64_t figures_left_to_pillow(const struct session *session);
uint64_t figures_left_to_torch(const struct session *session);
/* What a counter of its own says of it, in --json. */
const char *figures_bound_name(enum bound bound);
/* One line for the user, which begins with a verb or with what is the case. To be freed. */
char *figures_advice(const struct figures *figures);
/* That, and what else would help: how many, each to be freed. */
#define FIGURES_SUGGESTIONS 6
unsigned figures_suggest(const struct figures *figures, char *out[FIGURES_SUGGESTIONS]);

#endif
