/*
 * Notices: changes that a process tells to a run whose table of changes it cannot write to. The
 * run's name is in the process's environment, and its catalogue is another user's (setpriv, su and
 * gosu keep the environment), or lies in a /dev/shm that this mount namespace does not have.
 *
 * The run's command listens at an abstract socket that is named by the run (cli/notices.h). It
 * notes the change in the run's table and answers; only then the call goes on that made the change.
 * A notice that gets no answer is made up for by the next one, which says that everything was
 * written. A forged notice has the origin asked once more.
 *
 * A notice takes a descriptor for a moment, and waits 2 s at most; behind one that was missed, 20
 * ms. No heap; safe in threads, after fork and vfork, and in signal handlers.
 */
#ifndef STK_CACHE_NOTICE_H
#define STK_CACHE_NOTICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cache/changes.h"

#define STK_NOTICE_RUNS  4
#define STK_NOTICE_NAME  40
#define STK_NOTICE_MAGIC UINT64_C(0x31656369746f6e73) /* changes with the layout */

/* What is sent; the answer is the same once more. */
struct stk_notice {
    uint64_t magic;
    uint64_t token[2]; /* shows that the sender knows the run's name */
    uint64_t hash;     /* of cache/changes.h */
    uint32_t kind;     /* enum stk_changes_kind, or STK_NOTICE_GREETING */
    uint32_t number;   /* tells an answer from that of an earlier notice */
};
#define STK_NOTICE_GREETING 2 /* nothing has changed */

/* Where a run hears notices. */
struct stk_notice_address {
    char name[STK_NOTICE_NAME]; /* of the abstract socket, without the zero before it */
    uint64_t token[2];
};
/* Makes the address of a run from the path of its file. */
void stk_notice_address(struct stk_notice_address *out, const char *run);

/* The runs to be told. Zero before use; may be static. */
struct stk_notices {
    unsigned count;
    struct stk_notice_run {
        struct stk_notice_address address;
        _Atomic bool missed; /* a notice got no answer */
    } runs[STK_NOTICE_RUNS];
};
/* Greets a run, and adds it if it is heard. Returns false if nothing listens there, or there is no
 * room. While a process sets up. */
bool stk_notices_reach(struct stk_notices *notices, const char *run);
/* Tells all of them of a change, and returns when they have noted it. */
void stk_notices_tell(struct stk_notices *notices, uint64_t hash, enum stk_changes_kind kind);

#endif
