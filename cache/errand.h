/*
 * Errands: what the job has the command do at a shared tier, one that is not known to be local.
 * Calls there may take any time, so no process of the job makes one: it leaves a note here, and a
 * process beside it, of `stoker run` (cli/courier.h), makes the calls.
 *
 *   LOOK     is there an entry of this version?
 *   FETCH    copy it into this draft, if its check sum and its name are right
 *   PUBLISH  put a copy of this entry there; nobody waits for that
 *
 * One invariant: what comes of it is a whole and right file in a draft of the asker's own, or a
 * miss. Who waits does so until a deadline; if that is missed, the draft is given up, whoever still
 * writes to it, and nothing more is asked in this run.
 *
 * It lies in the run's file (cache/run.h). Lock-free, no heap, safe in threads, after fork and in
 * signal handlers, but for stk_errand_take.
 */
#ifndef STK_CACHE_ERRAND_H
#define STK_CACHE_ERRAND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cache/root.h"

#define STK_ERRAND_SLOTS       96
#define STK_ERRAND_PUTS        64 /* of these, at most, are to be published */
#define STK_ERRAND_PATH_BYTES  888
#define STK_ERRAND_DRAFT_BYTES 64

enum stk_errand_kind { STK_ERRAND_LOOK, STK_ERRAND_FETCH, STK_ERRAND_PUBLISH };
enum stk_errand_answer { STK_ERRAND_NO, STK_ERRAND_YES, STK_ERRAND_DAMAGED };

/* What is wanted. */
struct stk_errand_wish {
    uint32_t kind;
    uint32_t tier;                      /* of the draft or the entry, by the catalogue's number */
    uint64_t bytes;                     /* of the file */
    uint64_t dev, ino;                  /* of the draft; of an entry the inode alone */
    bool repairs;                       /* what is there was found to be damaged */
    char draft[STK_ERRAND_DRAFT_BYTES]; /* its name in the tier's room for drafts */
    char path[STK_ERRAND_PATH_BYTES];   /* of the entry, below any tier's tree */
};

/* A place for one. */
struct stk_errand {
    _Alignas(8) _Atomic uint32_t state; /* how far it is, and whose turn it is */
    uint32_t answer;
    _Atomic int64_t until_ns; /* when nobody waits for it any more */
    uint64_t check;           /* of what was fetched: cache/proof.h */
    struct stk_errand_wish wish;
};

/* Whether anything is asked, or why not. */
enum stk_errands_state {
    STK_ERRANDS_NONE, /* there is no shared tier */
    STK_ERRANDS_OPEN,
    STK_ERRANDS_LATE,   /* a deadline was missed */
    STK_ERRANDS_FAILED, /* too many errors, one after the other */
    STK_ERRANDS_OVER    /* the run ends */
};

enum stk_errands_count {
    STK_ERRANDS_FETCHED,
    STK_ERRANDS_FETCHED_BYTES,
    STK_ERRANDS_PUBLISHED,
    STK_ERRANDS_PUBLISHED_BYTES,
    STK_ERRANDS_PASSED, /* of what was fetched: was not kept */
    STK_ERRANDS_PASSED_BYTES,
    STK_ERRANDS_DAMAGED, /* entries whose check sum or name was wrong */
    STK_ERRANDS_FULL,    /* not published for want of room */
    STK_ERRANDS_LEFT,    /* not published since there was too much to do */
    STK_ERRANDS_ERRORS,
    STK_ERRANDS_LAST_ERROR, /* an errno */
    STK_ERRANDS_COUNTS
};

struct stk_errands {
    _Atomic uint32_t state;
    _Atomic uint32_t patient;          /* 1: who puts what is to be published waits for a place */
    _Atomic uint32_t next;             /* where to look for a free place first */
    _Atomic uint32_t left[2], idle[2]; /* for the one kind of takers and the other */
    _Atomic uint64_t counts[STK_ERRANDS_COUNTS];
    struct stk_errand slots[STK_ERRAND_SLOTS];
};

/* Where the entry of a version lies below a tier's tree; false: it does not fit. */
bool stk_errand_path(char out[STK_ERRAND_PATH_BYTES], const struct stk_root *root,
                     const char *below, uint64_t name);

/* ---- of the job ---- */

bool stk_errands_are_open(const struct stk_errands *errands);
/* Whether there is, or was, a shared tier in this run. */
bool stk_errands_are_known(const struct stk_errands *errands);
/* Whether what is put there is taken, as far as is known: nothing was refused for want of room. */
bool stk_errands_have_room(const struct stk_errands *errands);
/* Has it done, and waits; NO is also a miss of any other kind: where too many wait, after a tenth
 * of a second. The record's claim is kept alive meanwhile. `check` is set by a FETCH that ends with
 * YES. */
enum stk_errand_answer stk_errand_ask(struct stk_errands *errands,
                                      const struct stk_errand_wish *wish, _Atomic uint64_t *claim,
                                      uint64_t *check);
/* Leaves it to be done, if there is room for the note, or (where all are patient) comes to be.
 * False: there is none. */
bool stk_errand_put(struct stk_errands *errands, const struct stk_errand_wish *wish);
/* Whether the entry with this inode is still to be put there, from the tier with this number. */
bool stk_errand_is_left(const struct stk_errands *errands, unsigned tier, uint64_t ino);

/* ---- of those who do it ---- */

/* From now on errands are done, unless they were closed before that. */
void stk_errands_open(struct stk_errands *errands);
/* For good; it stays at the first reason. */
void stk_errands_close(struct stk_errands *errands, enum stk_errands_state why);
void stk_errands_count(struct stk_errands *errands, enum stk_errands_count what, uint64_t amount);

/* Waits for one, to publish or of the other kinds. False: it is over, and nothing is left to be
 * published. Blocks. */
struct stk_errand_taken {
    struct stk_errand *errand;
    uint32_t state;
    struct stk_errand_wish wish;
};
bool stk_errand_take(struct stk_errands *errands, bool publishes, struct stk_errand_taken *out);
void stk_errand_answer(struct stk_errand_taken *taken, enum stk_errand_answer answer,
                       uint64_t check);

#endif
