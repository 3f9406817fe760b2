/* Lets another thread end a thread's read of a file, which may be large and whose origin may be
 * slow. The descriptor is exchanged for that of an empty file. A fill takes that for a change of
 * the origin. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

struct read_cancel {
    pthread_mutex_t lock;
    int fd; /* or -1 */
    bool cut;
};

void read_cancel_set_up(struct read_cancel *cancel);
/* Begins: this thread is going to read `fd`. */
void read_cancel_begin(struct read_cancel *cancel, int fd);
/* Ends, and closes the descriptor. Returns false if another thread has cut the read. */
bool read_cancel_end(struct read_cancel *cancel);
/* Cuts the read of the thread that uses `cancel`. */
void read_cancel_cut(struct read_cancel *cancel);
