/*
 * Receives the orders of the job's loaders. The command listens at an abstract socket, whose name
 * the job has in STOKER_ORDERS. Each pass over a loader is a connection, which the loader closes
 * when the pass ends. Only processes of this user are heard.
 *
 * One process opens the socket. A process that it forks receives in one thread, and other threads
 * take files. The orders take turns, so that the files that are wanted next come first.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/path.h"
#include "cache/run/run.h"

/* When a file is wanted. */
struct order_turn {
    unsigned slot;   /* of its order */
    uint64_t pass;   /* differs for each order of the slot */
    uint64_t number; /* in the order */
};

/* A file to be read ahead. */
struct ordered_file {
    char path[STK_PATH_BYTES];
    struct order_turn turn;
    int64_t pass_began_ns;
    bool of_tree; /* order_is_of_tree() */
    bool amid;    /* order_begins_amid() */
    bool large;   /* it is read although it is above STOKER_MAX_FILE */
};

/* Opens the socket. Returns its descriptor, or -1. */
int order_queue_open(void);
/* Returns the socket's name, which stays. */
const char *order_queue_name(void);
/* Makes order_queue_listen() return in the other process, and closes the socket. */
void order_queue_close(void);

/* Receives until the socket is closed. By `run` it is known which files the job has opened. Then
 * wakes each thread that waits for a file. */
void order_queue_listen(struct stk_run *run);

/* Returns true if there is a file that may be read now. */
bool order_queue_has_next(void);
/* Returns true if a loader has sent files of an order, or if an order of samples is believed. Then
 * trees have no turn. */
bool order_queue_has_loaders(void);

/* Waits for the next file. Returns false once the socket is closed. */
bool order_queue_take(struct ordered_file *out);
/* Reports a file that was read or was there. `record`: the file's, or 0; `room`: false if there was
 * no room for it. */
void order_queue_report(const struct ordered_file *file, uint32_t record, bool room);

/* Returns how many files before what workers were asked for the file of that turn is: order_lead().
 */
uint64_t order_queue_lead(const struct order_turn *turn);
/* Returns true if the job seems to have opened the file of that turn in this pass. Workers were
 * asked for the file, and it was opened more often than other files were before their turns.
 * `opens`: how often the job has opened the file in all. */
bool order_queue_was_opened(const struct order_turn *turn, unsigned opens);
/* Returns true if the pass of that turn is over. */
bool order_queue_is_over(const struct order_turn *turn);
/* Returns true if the loader is done with the file of that turn, or the pass is over. */
bool order_queue_is_done(const struct order_turn *turn);
/* Returns true if the loader was done with it so long ago that it will not be opened any more. */
bool order_queue_is_late(const struct order_turn *turn);
