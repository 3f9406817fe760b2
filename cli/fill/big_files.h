/*
 * Makes big files complete in the cache (cache/big/big.h). A thread that finds a big file queues it
 * here. Threads of the command fill it block by block, several at once, each by a descriptor of its
 * own. So one huge file is filled by as many threads as many small ones. Blocks that are cached, or
 * that another process fills, cost nothing. A fill that was interrupted is continued.
 *
 * The most wanted file comes first. An open that waits counts most, then a map, then a read, then
 * filling ahead. A file that no process has asked for yields while the job reads from the origin.
 * Then one thread goes on, at a quarter of its pace.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cache/big/big.h"
#include "cache/cache.h"
#include "cache/run/big_queue.h"
#include "cli/fill/read_cancel.h"

/* How much a file is wanted, from least to most. */
enum big_rank { BIG_AHEAD, BIG_READ, BIG_MAPPED, BIG_AWAITED };

/* The outcome for one file. */
struct big_end {
    uint64_t bytes; /* the file's size */
    uint64_t
        filled; /* bytes that this command filled, for the first asker; 0: all blocks were cached */
    enum stk_bypass why; /* NONE: the file is complete */
};

/* A file to be filled. `ended` is called with its outcome, from any thread. `ticket`: its ticket in
 * cache/run/big_queue.h, or 0. */
struct big_file {
    enum big_rank rank;
    bool yields;
    uint64_t ticket;
    void (*ended)(const struct big_end *end);
    void (*came)(uint64_t bytes); /* called with the bytes of each filled block, for the first
                                     asker; or NULL */
};

/* A thread that fills big files, with the file that it fills now. */
struct big_worker {
    struct read_cancel cancel;
    struct stk_big big;
    uint64_t turn; /* of the file that is open; 0: none is */
    char *buffer;  /* for blocks that are read directly, or NULL */
};

/* Call it before any thread. The cache must stay. `big_queue`: the job's big-file queue, or NULL.
 * May be called again with the same arguments. */
void big_files_begin(struct stk_cache *cache, struct stk_big_queue *big_queue);

/* The fate of an added file. QUEUED: it will be filled. THERE: it is complete. REFUSED: not all of
 * it fits into the budget, or there is another reason, which `end` has. LATER: too many files are
 * queued. */
enum big_taken { BIG_QUEUED, BIG_THERE, BIG_REFUSED, BIG_LATER };
/* Queues a big file, open as `fd` since `opened_ns`. If the file is queued already, it gets the
 * higher rank, and both askers get its outcome. */
enum big_taken big_files_add(const struct stk_place *place, uint32_t record, int fd,
                             int64_t opened_ns, const struct big_file *file, struct big_end *end);

/* Adds an asker to a file that is queued already, which needs no descriptor: another open of a file
 * may cost what is being fetched of it. Returns false if this version is not queued. */
bool big_files_join(uint32_t record, const struct big_file *file);

void big_worker_set_up(struct big_worker *worker);
/* Fills one block of the most wanted file. If no file is queued, waits for one while `more` returns
 * true. Returns false if there was nothing to do. */
bool big_files_step(struct big_worker *worker, bool (*more)(void));
/* Call it at the thread's end. */
void big_worker_close(struct big_worker *worker);
/* Wakes waiting threads: something changed that `more` looks at. */
void big_files_wake(void);

/* Returns true if any file is queued. */
bool big_files_is_any(void);
/* Returns how many bytes are left to be filled, and sets the number of queued files. */
uint64_t big_files_left_bytes(uint64_t *files);
