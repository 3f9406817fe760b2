/*
 * What the user asks of `stoker run`, `warm` and `env`: the flags, and what follows from them and
 * from the environment. Everything is checked here. A wrong argument ends in one line and status 2.
 * For something that this node lacks a line says so, and the job goes on (cli/refusal.h).
 */
#ifndef STK_CLI_REQUEST_H
#define STK_CLI_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "cache/catalogue.h"
#include "cache/group.h"
#include "cache/home.h"

#define STK_REQUEST_PATHS  16
#define REQUEST_MOST_JOBS  1024
#define REQUEST_MOST_NODES 4096

/* Whose the sample store is. */
enum samples_kind {
    SAMPLES_OURS,   /* in the tier's home */
    SAMPLES_NAMED,  /* by the flag: the user's directory, or none */
    SAMPLES_AS_SET, /* by STOKER_SAMPLES */
};

struct request {
    /* Covered paths: as the user spells them, absolute, and canonical. */
    unsigned count;
    char *spelled[STK_REQUEST_PATHS];
    char *canonical[STK_REQUEST_PATHS];
    bool at_hand[STK_REQUEST_PATHS]; /* on a local disk: a look there asks no server */
    bool detected;                   /* found among the command's arguments */
    /* Paths that this node cannot look at, each with the reason: all that were named, or one of the
     * command's arguments. */
    unsigned away_count;
    char *away[STK_REQUEST_PATHS];

    /* Where the cache lies, in the order in which it is filled. */
    struct request_tier {
        char directory[STK_HOME_BYTES]; /* canonical */
        int64_t budget_bytes;           /* or STK_TIER_DEFAULT_BUDGET */
        bool named;                     /* by the user; else it is the default */
        int error;     /* -errno: this node cannot look at `directory`, which is as it was typed */
        bool left_out; /* a run could not use it; the job's processes do not try */
    } tiers[STK_TIERS + 1];
    unsigned tier_count;
    struct request_tier shared; /* a further one, of several nodes; no directory: none */
    bool tier_given;
    bool no_tier;       /* nothing can be cached; the command has said so */
    bool require_cache; /* a cache that this node cannot give is an error */

    /* With whom it is shared (cli/group.h). */
    struct stk_group group;
    char *share_name;  /* as people call it; NULL: with nobody */
    const char *share; /* the value of STOKER_SHARE */

    const char *fresh; /* NULL: not given */
    bool automatic;    /* --auto */
    char *files_left;  /* NULL: files are cached; else why copies of them gain nothing */
    bool keep;
    bool no_decode;      /* by the flag or by the environment */
    bool no_torchvision; /* by the flag */
    bool no_batches;     /* by the flag or by the environment */
    bool no_history;     /* by the flag: the run leaves no record */
    enum samples_kind samples_kind;
    const char *samples;   /* the flag's value, or NULL */
    int64_t samples_bytes; /* of ours; -1: what entries leave */
    const char *json;      /* file, or NULL */
    char **command;        /* NULL-terminated; NULL: none */

    /* Filling ahead (cli/ahead.h). */
    bool warm;       /* beside the command */
    bool warm_first; /* whose opens of big files wait until these are whole */
    bool warm_only;  /* `stoker warm`, which is nothing without a cache */
    bool dry_run;
    bool forms;           /* of JPEGs are made, too (cli/forms.h) */
    unsigned jobs;        /* files at a time; 0: as many as suit the origin */
    unsigned node, nodes; /* whose part, from 1 on, of how many; 0 nodes: all of it */
    unsigned part_count;  /* what is to be filled: canonical, below covered paths */
    char **parts;
};

/* Parses and checks the arguments behind the verb. `needs_command` for run. */
void request_parse(struct request *request, char **arguments, bool needs_command);
/* The same for `stoker warm`. */
void request_parse_warm(struct request *request, char **arguments);

/* The value of STOKER_PATHS for this request; the caller frees. */
char *request_paths(const struct request *request);
/* Sets the variables by which this process and those that it starts find the run in this file. */
void request_export(const struct request *request, const char *run);

#endif
