/*
 * Requests of the job to the command, for a shared tier: one that is not known to be local. A call
 * there may take any time, so no process of the job makes one. It leaves a request here, and a
 * process of `stoker run` beside the job (cli/run/shared_helper.h) makes the calls.
 *
 *   LOOK     is there an entry of this version?
 *   FETCH    copy it into this draft, if its checksum and its name are right
 *   PUBLISH  put a copy of this entry there; no process waits for that
 *
 * One invariant: a request ends with a whole and right file in the asker's own draft, or with a
 * miss. An asker waits until a deadline. If that is missed, the draft is given up, even if the
 * helper still writes to it, and no more requests are made until the helper has found that the
 * server answers again (cli/run/shared_tries.h).
 *
 * The requests lie in the run's file (cache/run/run.h). Lock-free, no heap, safe in threads, after
 * fork and in signal handlers, but for stk_shared_request_take.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define STK_SHARED_REQUEST_SLOTS       256
#define STK_SHARED_REQUEST_PUTS        128 /* of these, at most, are to be published */
#define STK_SHARED_REQUEST_PATH_BYTES  888
#define STK_SHARED_REQUEST_DRAFT_BYTES 64

enum stk_shared_request_kind {
    STK_SHARED_REQUEST_LOOK,
    STK_SHARED_REQUEST_FETCH,
    STK_SHARED_REQUEST_PUBLISH
};
enum stk_shared_request_answer {
    STK_SHARED_REQUEST_NO,
    STK_SHARED_REQUEST_YES,
    STK_SHARED_REQUEST_DAMAGED
};

/* The content of a request. */
struct stk_shared_request_spec {
    uint32_t kind;
    uint32_t tier;     /* number of the tier of the draft or entry */
    uint64_t bytes;    /* of the file */
    uint64_t dev, ino; /* of the draft; of an entry only the inode */
    bool repairs;      /* the entry there was found to be damaged */
    bool missing;      /* there was none a moment ago */
    bool for_members;  /* the group that shares the tier may read the origin */
    bool unopened;     /* an entry that was put there with other rights is no answer */
    uint64_t rights;   /* of the process that asks, or that has opened the origin (base/proc.h) */
    char
        draft[STK_SHARED_REQUEST_DRAFT_BYTES]; /* the draft's name in the tier's folder of drafts */
    char path[STK_SHARED_REQUEST_PATH_BYTES];  /* of the entry, below any tier's tree */
};

/* One slot. */
struct stk_shared_request {
    _Alignas(8) _Atomic uint32_t state; /* the phase, and how often the slot was used */
    uint32_t answer;
    _Atomic int64_t until_ns; /* the asker's deadline */
    uint64_t check;           /* the checksum of what was fetched: cache/entry/checksum.h */
    struct stk_shared_request_spec spec;
};

/* The requests are open, paused for a reason, or closed. */
enum stk_shared_requests_state {
    STK_SHARED_REQUESTS_NONE, /* there is no shared tier */
    STK_SHARED_REQUESTS_OPEN,
    STK_SHARED_REQUESTS_LATE,   /* paused: a deadline was missed */
    STK_SHARED_REQUESTS_FAILED, /* paused: too many errors, one after the other */
    STK_SHARED_REQUESTS_OVER    /* the run ends, or has no helper */
};

enum stk_shared_requests_count {
    STK_SHARED_REQUESTS_FETCHED,
    STK_SHARED_REQUESTS_FETCHED_BYTES,
    STK_SHARED_REQUESTS_PUBLISHED,
    STK_SHARED_REQUESTS_PUBLISHED_BYTES,
    STK_SHARED_REQUESTS_PASSED, /* fetched, and not kept */
    STK_SHARED_REQUESTS_PASSED_BYTES,
    STK_SHARED_REQUESTS_DAMAGED, /* entries whose check sum or name was wrong */
    STK_SHARED_REQUESTS_FULL,    /* not published for want of room */
    STK_SHARED_REQUESTS_DROPPED, /* not published yet: all slots were taken, or no time was left */
    STK_SHARED_REQUESTS_SWEPT,   /* directories that were looked at for what is not there */
    STK_SHARED_REQUESTS_PAUSES,  /* how often the server was left alone */
    STK_SHARED_REQUESTS_ERRORS,
    STK_SHARED_REQUESTS_LAST_ERROR, /* an errno */
    STK_SHARED_REQUESTS_COUNTS
};

struct stk_shared_requests {
    _Atomic uint32_t state;
    _Atomic uint32_t gid;      /* the group that shares the tier; 0: none */
    _Atomic uint32_t on_node;  /* 1: the tier is on a disk of this node */
    _Atomic uint32_t patient;  /* 1: a process that queues a PUBLISH waits for a slot */
    _Atomic uint32_t sweeps;   /* 1: the helper may still add to what is to be published */
    _Atomic uint32_t spares;   /* 1: the last entry was there, put there with the asker's rights */
    _Atomic uint32_t next;     /* where the search for a free slot begins */
    _Atomic uint32_t hurry;    /* 1: the run is about to end, so the helper tries at once */
    _Atomic int64_t paused_ns; /* when the last pause began; 0: never */
    _Atomic uint32_t queued[2],
        idle[2]; /* for the takers of LOOK and FETCH, and for those of PUBLISH */
    _Atomic uint64_t counts[STK_SHARED_REQUESTS_COUNTS];
    struct stk_shared_request slots[STK_SHARED_REQUEST_SLOTS];
};

/* ---- of the job ---- */

bool stk_shared_requests_are_open(const struct stk_shared_requests *requests);
/* Returns true if they are open, and no pause has begun since that time, on CLOCK_BOOTTIME. */
bool stk_shared_requests_are_open_since(const struct stk_shared_requests *requests, int64_t at_ns);
/* Returns true if the run has or had a shared tier. */
bool stk_shared_requests_are_known(const struct stk_shared_requests *requests);
/* Returns true unless a PUBLISH was refused for want of room. */
bool stk_shared_requests_have_room(const struct stk_shared_requests *requests);
/* Returns true if the next entry is likely to be there, and needs no open of the origin: so it was
 * with the last one. */
bool stk_shared_requests_spare_opens(const struct stk_shared_requests *requests);
/* Makes a request and waits for the answer. NO is also any other miss: where too many wait, after a
 * second. Waits for 2 s, and in a FETCH a second more for each 16 MiB. The requests of one fill
 * share this deadline: `waited_ns` is how long the ones before have waited, and is brought up to
 * date. One stop of the process, as schedulers stop whole jobs, does not count. The record's claim
 * is kept alive meanwhile. A FETCH that ends with YES sets `check`. */
enum stk_shared_request_answer stk_shared_request_ask(struct stk_shared_requests *requests,
                                                      const struct stk_shared_request_spec *spec,
                                                      _Atomic uint64_t *claim, int64_t *waited_ns,
                                                      uint64_t *check);
/* Queues a PUBLISH. If no slot is free, or the requests are not open, counts it as DROPPED; where
 * `patient` is set, it waits for a slot first. */
void stk_shared_request_queue(struct stk_shared_requests *requests,
                              const struct stk_shared_request_spec *spec);
/* Returns true if a PUBLISH of the entry with this inode, from the tier with this number, is still
 * queued. */
bool stk_shared_request_is_queued(const struct stk_shared_requests *requests, unsigned tier,
                                  uint64_t ino);

/* ---- for the helper ---- */

/* Opens the requests, unless they were paused or closed before. */
void stk_shared_requests_open(struct stk_shared_requests *requests);
/* Pauses requests that are open, or were never opened, for a reason: LATE or FAILED. Opens paused
 * ones again. The job pauses them, too, when a deadline is missed. */
void stk_shared_requests_pause(struct stk_shared_requests *requests,
                               enum stk_shared_requests_state why);
void stk_shared_requests_resume(struct stk_shared_requests *requests);
bool stk_shared_requests_are_paused(const struct stk_shared_requests *requests);
/* Says that the run is about to end: a pause is to end at once, if the server answers. */
void stk_shared_requests_hurry(struct stk_shared_requests *requests);
/* Closes the requests for good. Returns the state before. */
enum stk_shared_requests_state stk_shared_requests_close(struct stk_shared_requests *requests);
/* Returns true while the requests are open or paused. */
bool stk_shared_requests_go_on(const struct stk_shared_requests *requests);
void stk_shared_requests_count(struct stk_shared_requests *requests,
                               enum stk_shared_requests_count what, uint64_t amount);

/* Queues a PUBLISH in one half of the slots, and waits until one of them is free, even when the run
 * is over. Gives up when nothing is published any more. */
void stk_shared_request_add(struct stk_shared_requests *requests,
                            const struct stk_shared_request_spec *spec);
/* Says that the helper adds no more. */
void stk_shared_requests_end_sweeps(struct stk_shared_requests *requests);

/* Waits for a request: a PUBLISH, or one of the other kinds. Takes none while they are paused.
 * Returns false when the requests are closed, no PUBLISH is left, and the helper adds no more.
 * Blocks. */
struct stk_shared_request_taken {
    struct stk_shared_request *request;
    uint32_t state;
    struct stk_shared_request_spec spec;
};
bool stk_shared_request_take(struct stk_shared_requests *requests, bool publishes,
                             struct stk_shared_request_taken *out);
void stk_shared_request_answer(struct stk_shared_request_taken *taken,
                               enum stk_shared_request_answer answer, uint64_t check);

/* Counts each PUBLISH that is not done as DROPPED. Call it when the helper is left behind. */
void stk_shared_requests_count_left(struct stk_shared_requests *requests);
