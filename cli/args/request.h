/* A request: the arguments of `stoker run`, `warm` and `env`, and what follows from them and from
 * the environment. cli/args/request_parse.h fills it in, and request_env.h exports it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cache/catalogue/catalogue.h"
#include "cache/catalogue/home.h"

#define STK_REQUEST_PATHS  16
#define REQUEST_MOST_JOBS  1024
#define REQUEST_MOST_NODES 4096

/* The source of the sample store's place. */
enum samples_kind {
    SAMPLES_OURS,   /* nothing: it lies in the tier's home */
    SAMPLES_NAMED,  /* the flag: the user's directory, or none */
    SAMPLES_AS_SET, /* STOKER_DECODED */
};

/* How much `stoker run` says at its start and end. */
enum telling { TELLING_USUAL, TELLING_LITTLE, TELLING_ALL };

struct request {
    /* Covered paths: as the user spells them, absolute; and canonical. */
    unsigned count;
    char *spelled[STK_REQUEST_PATHS];
    char *canonical[STK_REQUEST_PATHS];
    bool at_hand[STK_REQUEST_PATHS]; /* on a local disk: looking there asks no server */
    bool detected;                   /* found among the command's arguments */
    /* Paths that this node cannot look at, each with the reason: all such paths that the user
     * named, or one of the command's arguments. */
    unsigned away_count;
    char *away[STK_REQUEST_PATHS];

    /* The tiers, in the order in which they are filled. */
    struct request_tier {
        char directory[STK_HOME_BYTES]; /* canonical */
        int64_t budget_bytes;           /* or STK_TIER_DEFAULT_BUDGET */
        bool named;                     /* by the user; else it is the default */
        bool must_share;                /* shared:DIR: not on a disk of this node */
        int error;     /* -errno: this node cannot look at `directory`, which is spelled as typed */
        bool left_out; /* a run could not use it; the job's processes do not try to */
    } tiers[STK_TIERS + 1];
    unsigned tier_count;
    struct request_tier shared; /* a further tier, shared by several nodes; no directory: none */
    bool shared_by_group;       /* its directory is that of the group */
    int shared_error;           /* of its server, or 0; -ETIMEDOUT: it has not answered yet */
    bool no_tier;               /* nothing can be cached; the command has said so */
    bool require_cache;         /* lacking a cache on this node is an error */

    /* The group whose members use the shared tier together (cli/args/share_group.h). */
    gid_t share_gid;  /* 0: no group */
    char *share_name; /* for messages */

    const char *fresh; /* NULL: not given */
    bool automatic;    /* --auto */
    char *files_left;  /* NULL: files are cached; else why copies of files gain nothing */
    bool keep;
    bool no_decode;      /* by the flag or by the environment */
    bool no_torchvision; /* by the flag */
    bool no_batches;     /* by the flag or by the environment */
    bool no_history;     /* by the flag: the run leaves no record */
    enum telling telling;
    enum samples_kind samples_kind;
    const char *samples;   /* the flag's value, or NULL */
    int64_t samples_bytes; /* of a store in the tier; -1: as much as entries leave */
    const char *json;      /* file, or NULL */
    char **command;        /* NULL-terminated; NULL: none */

    /* Filling ahead (cli/fill/fill_ahead.h). */
    bool warm;       /* beside the command */
    bool warm_first; /* opens of big files wait until the files are complete */
    bool warm_only;  /* `stoker warm`, which ends if there is no cache */
    bool dry_run;
    bool forms;           /* forms of JPEGs are made, too (cli/verbs/forms_ahead.h) */
    unsigned jobs;        /* files at a time; 0: as many as suit the origin */
    unsigned node, nodes; /* fill part `node`, from 1 on, of `nodes`; 0 nodes: all of it */
    unsigned part_count;  /* the paths to fill: canonical, below covered paths */
    char **parts;
};
