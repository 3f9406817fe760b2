/*
 * Notices of changes, from a process to a run whose table of changes it cannot write to. The
 * process has the run's name in its environment, which setpriv, su and gosu keep. The run's
 * catalogue belongs to another user, or lies in a /dev/shm that this mount namespace does not have.
 *
 * The run's command listens at an abstract socket that is named after the run (cli/run/notices.h).
 * The command notes the change in the run's table and answers. The process waits for that answer.
 * If a notice gets no answer, the next one says that everything was written. A forged notice only
 * makes processes ask the origin once more.
 *
 * A notice uses a descriptor for a moment. It waits for at most 2 s, or for 20 ms after a notice
 * without an answer. No heap; safe in threads, after fork and vfork, and in signal handlers.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cache/catalogue/changes.h"

#define STK_NOTICE_RUNS  4
#define STK_NOTICE_NAME  40
#define STK_NOTICE_MAGIC UINT64_C(0x31656369746f6e73) /* changes with the layout */

/* A notice as it is sent. The answer repeats all of it. */
struct stk_notice {
    uint64_t magic;
    uint64_t token[2]; /* shows that the sender knows the run's name */
    uint64_t hash;     /* of cache/catalogue/changes.h */
    uint32_t kind;     /* enum stk_changes_kind, or STK_NOTICE_GREETING */
    uint32_t number;   /* marks its answer as none to an earlier notice */
};
#define STK_NOTICE_GREETING 2 /* nothing has changed */

/* Where a run hears notices. */
struct stk_notice_address {
    char name[STK_NOTICE_NAME]; /* of the abstract socket, without the zero before it */
    uint64_t token[2];
};
/* Makes the address of a run from the path of its file. */
void stk_notice_address(struct stk_notice_address *out, const char *run);

/* The runs that get the notices. */
struct stk_notices {
    unsigned count;
    struct stk_notice_run {
        struct stk_notice_address address;
        _Atomic bool missed; /* a notice got no answer */
    } runs[STK_NOTICE_RUNS];
};
/* Greets a run, and adds it unless nothing listens there. Returns false if nothing listens, or
 * there is no room. Only while a process sets up. */
bool stk_notices_reach(struct stk_notices *notices, const char *run);
/* Sends a change to all these runs, and returns when they have noted it or the wait is over. */
void stk_notices_tell(struct stk_notices *notices, uint64_t hash, enum stk_changes_kind kind);
