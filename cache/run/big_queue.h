/*
 * Big files (cache/big/big.h) that the job has begun to read or map. Their blocks come as they are
 * read, and a map reads the origin until the file is whole: so `stoker run` completes such files
 * beside the job. The job's processes enter the files here by their paths, and what they did with
 * them. Threads of the command read the rest, and enter how that ended.
 *
 * Nothing depends on this queue: a file that has no slot is completed by its readers, or not at
 * all. The name of a file that was mapped while blocks were missing stays until the run ends, for
 * the summary.
 *
 * It lies in the run's file (cache/run/run.h). Lock-free, no heap, safe in threads, after fork and
 * in signal handlers.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define STK_BIG_QUEUE_SLOTS      64
#define STK_BIG_QUEUE_PATH_BYTES 488

/* Marks: how far such a file is. */
enum stk_big_queue_mark {
    STK_BIG_QUEUE_READ = 1,      /* some of its blocks were read, and are there */
    STK_BIG_QUEUE_MAPPED = 2,    /* it was mapped while it was not whole */
    STK_BIG_QUEUE_AWAITED = 4,   /* an open waits for all of it */
    STK_BIG_QUEUE_DONE = 8,      /* it is whole */
    STK_BIG_QUEUE_LEFT = 16,     /* it cannot be finished in this run */
    STK_BIG_QUEUE_STREAMED = 32, /* it is read from front to back */
};

struct stk_big_queue_slot {
    /* Bits 0-1: free, being written, queued; 2-7: marks; 8-31: the writer's pid; from 32 on: how
     * often the slot was written. */
    _Alignas(8) _Atomic uint64_t word;
    uint64_t key, root; /* the stamp of the file's table of blocks; the root's key */
    char below[STK_BIG_QUEUE_PATH_BYTES];
};

struct stk_big_queue {
    _Atomic uint32_t wanted;   /* 1: the command reads the queue */
    _Atomic uint32_t finished; /* 1: threads of the command complete the files */
    _Atomic uint32_t
        holds; /* 1: opens wait for that; 2: they do not while no file makes progress */
    _Atomic uint32_t count;   /* counts entries, for the command to wait on */
    _Atomic uint32_t steps;   /* counts steps of the command, for opens to wait on */
    _Atomic uint32_t waiting; /* opens; too high after a kill */
    _Atomic uint64_t more;    /* mapped files that had no slot */
    /* The job's reads of the origin for what is to be cached: how many are under way, which is too
     * high after a kill, and when the last one began or ended. */
    _Atomic int32_t reading;
    _Atomic int64_t read_ns;
    struct stk_big_queue_slot slots[STK_BIG_QUEUE_SLOTS];
};

/* A slot as it is at one time. */
struct stk_big_queue_file {
    uint64_t ticket;
    uint32_t marks;
    uint64_t root;
    char below[STK_BIG_QUEUE_PATH_BYTES];
};

/* ---- the job's side ---- */

/* Enters a version of a file, once however often it is called. Returns a ticket to mark it by, or
 * 0. A file that the command has given up may be entered again, with another ticket. */
uint64_t stk_big_queue_add(struct stk_big_queue *queue, uint64_t key, uint64_t root,
                           const char *below);
/* Adds marks. Returns false if the ticket is not valid any more. */
bool stk_big_queue_mark(struct stk_big_queue *queue, uint64_t ticket, uint32_t marks);
/* Returns true if an open shall wait until its file is whole. After one open has waited in vain
 * none does, as the command may have been killed; after the next step of the command opens wait
 * again. */
bool stk_big_queue_holds(const struct stk_big_queue *queue);
/*
 * Waits until `whole` is not 0. Returns false if the caller shall use the origin: no file has made
 * progress for some seconds, or the file was given up. Returns false also after a signal's handler
 * has run: a program that is asked to end shall end.
 */
bool stk_big_queue_wait(struct stk_big_queue *queue, uint64_t ticket,
                        const _Atomic uint32_t *whole);

/* Notes that a read of the origin for what is to be cached begins, goes on or ends. */
enum stk_big_queue_reading { STK_BIG_QUEUE_ENDS = -1, STK_BIG_QUEUE_GOES_ON, STK_BIG_QUEUE_BEGINS };
void stk_big_queue_note_reading(struct stk_big_queue *queue, enum stk_big_queue_reading what);

/* ---- the command's ---- */

/* Opens the queue. `finished`: the command completes the files; `holds`: opens wait for that. */
void stk_big_queue_open(struct stk_big_queue *queue, bool finished, bool holds);
/* Closes the queue: no more files are completed, and waiting opens go on. */
void stk_big_queue_close(struct stk_big_queue *queue);
/* Reads a slot. Returns false if it is free. */
bool stk_big_queue_look(struct stk_big_queue *queue, unsigned slot, struct stk_big_queue_file *out);
/* Frees a slot, unless the summary needs its name. */
void stk_big_queue_free(struct stk_big_queue *queue, uint64_t ticket);
/* Returns true if the job reads the origin, or did a moment ago. */
bool stk_big_queue_is_reading(const struct stk_big_queue *queue);
/* Counts a step of the command. */
void stk_big_queue_step(struct stk_big_queue *queue);
