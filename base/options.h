/*
 * The one table of options (options.def). Each option is an environment variable, most are also a
 * flag of the command. docs/environment.md is generated from the table (`stoker env --markdown`)
 * and checked by a test.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum stk_option {
#define OPTION(name, ...) STK_OPTION_##name,
#include "base/options.def"
#undef OPTION
    STK_OPTION_COUNT
};

struct stk_option_row {
    const char *variable;  /* STOKER_... */
    const char *flag;      /* of `stoker run` and `stoker env`, or NULL */
    const char *argument;  /* how its value is written */
    const char *otherwise; /* the default, as a value; "" when it is computed or empty */
    const char *meaning;   /* one paragraph, for people */
};

extern const struct stk_option_row stk_option_table[STK_OPTION_COUNT];

enum stk_fresh { STK_FRESH_RUN, STK_FRESH_OPEN, STK_FRESH_NEVER };

enum stk_listings { STK_LISTINGS_AUTO, STK_LISTINGS_MTIME, STK_LISTINGS_OFF };

#define STK_OPTION_BYTES 512
#define STK_TIERS_BYTES  4096

#define STK_LEAST_BLOCK_BYTES (64 << 10)
#define STK_MOST_BLOCK_BYTES  (64 << 20)

/* The parsed values. `paths` and `outer_paths` belong to the environment, which the program may
 * change: use them at once. The other strings are copies, "" where unset or too long. */
struct stk_options {
    const char *paths; /* colon-separated, a colon or backslash in a path behind a backslash */
    char tiers[STK_TIERS_BYTES];       /* DIR[:SIZE][,DIR[:SIZE]]..., "" where they are too long */
    char run[STK_OPTION_BYTES];        /* path of the run's file, "" outside `stoker run` */
    const char *outer_paths;           /* of the runs around this one, written as `paths` */
    char outer_runs[STK_OPTION_BYTES]; /* files of the runs around this one, written as `paths` */
    enum stk_fresh fresh;
    enum stk_listings listings;
    bool leaves_files; /* to the kernel's page cache; and listings */
    int64_t min_age_ns;
    int64_t max_file_bytes, whole_bytes;
    int64_t block_bytes; /* of files above that; 0: they are the origin's */
    int64_t
        readahead_bytes; /* the most that is read ahead of a file that is read from front to back */
    bool reads_ahead;    /* the command reads in the order of the job's loaders */
    bool completes;      /* the command reads the rest of files that a program has begun to read */
    int rank;            /* of this process, as base/rank.h */
};

/* Reads the environment. A value that cannot be understood counts as unset: the library does not
 * complain, and the command has checked the value before. As getenv, not safe beside setenv in
 * another thread. */
void stk_options_read(struct stk_options *out);

/* Returns the value of an option's variable, which belongs to the environment; NULL where it is
 * unset or empty. */
const char *stk_option_value(enum stk_option option);
/* Returns true if an option has this value, or has it by default. */
bool stk_option_is(enum stk_option option, const char *value);

/* Checks one value. Returns NULL if it is good, else what is wrong and what to write instead. */
const char *stk_option_complaint(enum stk_option option, const char *value);

/* Takes the value of STOKER_DECODED, "DIR[:SIZE]", apart at its last colon: sets the length of DIR,
 * and the bytes, -1 without a SIZE. Returns false if the SIZE is none. */
bool stk_option_split_place(const char *value, unsigned long *length, int64_t *bytes);

/* Takes the next path off a STOKER_PATHS list into `out` (bytes large), undoing the backslashes.
 * Returns false at the end of the list. Skips a path that does not fit. */
bool stk_options_next_path(const char **list, char *out, unsigned long bytes);
