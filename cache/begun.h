/*
 * Big files (cache/big.h) that the job has begun. Their blocks come as they are read, and a map
 * reads the origin until the file is whole: so `stoker run` finishes such files beside the job. The
 * job's processes say here which they are, by their paths, and what was done with them; threads of
 * the command look, read the rest, and say what became of it.
 *
 * Nothing depends on what lies here: a file for which there is no room is finished by its readers,
 * or not at all. Of a file that was mapped while blocks were missing the name stays until the run
 * ends, for its summary.
 *
 * It lies in the run's file (cache/run.h). Lock-free, no heap, safe in threads, after fork and in
 * signal handlers.
 */
#ifndef STK_CACHE_BEGUN_H
#define STK_CACHE_BEGUN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define STK_BEGUN_SLOTS      64
#define STK_BEGUN_PATH_BYTES 488

/* What is known of such a file. */
enum stk_begun_mark {
    STK_BEGUN_READ = 1,    /* some of it was read, and is there */
    STK_BEGUN_MAPPED = 2,  /* it was mapped while it was not whole */
    STK_BEGUN_AWAITED = 4, /* an open waits for all of it */
    STK_BEGUN_DONE = 8,    /* it is whole */
    STK_BEGUN_LEFT = 16,   /* it cannot be finished in this run */
};

struct stk_begun_slot {
    /* Bits 0-1: free, being written, told; 2-7: marks; 8-31: who writes it; from 32 on: how often
     * it was written. */
    _Alignas(8) _Atomic uint64_t word;
    uint64_t key, root; /* of the file's table of blocks, its stamp; of its root */
    char below[STK_BEGUN_PATH_BYTES];
};

struct stk_begun {
    _Atomic uint32_t told;     /* 1: names are wanted */
    _Atomic uint32_t finished; /* 1: somebody finishes them */
    _Atomic uint32_t holds;    /* 1: opens wait until that is done; 2: not while nobody gets on */
    _Atomic uint32_t count;    /* of what was ever said here, to be waited for */
    _Atomic uint32_t steps;    /* of those who finish, to be waited for */
    _Atomic uint32_t waiting;  /* opens; too high after a kill */
    _Atomic uint64_t more;     /* files that were mapped, whose names had no room */
    /* The job's reads by the origin of what is to be cached: how many are under way, which is too
     * high after a kill, and when the last one began or ended. */
    _Atomic int32_t reading;
    _Atomic int64_t read_ns;
    struct stk_begun_slot slots[STK_BEGUN_SLOTS];
};

/* A slot as it is at one time. */
struct stk_begun_file {
    uint64_t ticket;
    uint32_t marks;
    uint64_t root;
    char below[STK_BEGUN_PATH_BYTES];
};

/* ---- the job's side ---- */

/* Names a version of a file, which is told once however often it is named; a ticket to mark it by,
 * or 0. One that was left is worth another try, by another ticket. */
uint64_t stk_begun_tell(struct stk_begun *begun, uint64_t key, uint64_t root, const char *below);
/* Adds marks; false: the ticket is not valid any more, and they are nobody's. */
bool stk_begun_mark(struct stk_begun *begun, uint64_t ticket, uint32_t marks);
/* Whether an open is to wait until its file is whole. Not any more once one has waited in vain, as
 * the command may have been killed; but again as soon as somebody gets on. */
bool stk_begun_holds(const struct stk_begun *begun);
/*
 * Waits until `whole` is not 0; false: it will not be soon, the origin is to be used. That is so
 * when nobody gets on with any file for some seconds, when the file was left, and when a signal's
 * handler has run: a program that is asked to end shall.
 */
bool stk_begun_wait(struct stk_begun *begun, uint64_t ticket, const _Atomic uint32_t *whole);

/* Notes that a read by the origin of what is to be cached begins or ends, or goes on. */
enum stk_begun_reading { STK_BEGUN_ENDS = -1, STK_BEGUN_GOES_ON, STK_BEGUN_BEGINS };
void stk_begun_note_reading(struct stk_begun *begun, enum stk_begun_reading what);

/* ---- the command's ---- */

/* Names are wanted from now on, and, if so, files are finished, and opens wait for that. */
void stk_begun_open(struct stk_begun *begun, bool finished, bool holds);
/* Nothing more is finished; who waits goes on. */
void stk_begun_close(struct stk_begun *begun);
/* What lies in a slot; false: nothing. */
bool stk_begun_look(struct stk_begun *begun, unsigned slot, struct stk_begun_file *out);
/* Frees a slot, unless its name is wanted at the end. */
void stk_begun_free(struct stk_begun *begun, uint64_t ticket);
/* Whether the job reads by the origin, or did a moment ago. */
bool stk_begun_is_reading(const struct stk_begun *begun);
/* Somebody gets on. */
void stk_begun_step(struct stk_begun *begun);

#endif
