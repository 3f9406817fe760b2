/*
 * What one thread is reading, so that another can end it: the file is swapped for an empty one,
 * which a fill takes for a change of the origin. A file may be large and its origin slow.
 */
#ifndef STK_CLI_DESK_H
#define STK_CLI_DESK_H

#include <pthread.h>
#include <stdbool.h>

struct desk {
    pthread_mutex_t lock;
    int fd; /* or -1 */
    bool cut;
};

void desk_set_up(struct desk *desk);
/* This thread is going to read it. */
void desk_put(struct desk *desk, int fd);
/* It is done: closes it. False: it was ended by another thread. */
bool desk_clear(struct desk *desk);
/* Ends what its thread is reading. */
void desk_cut(struct desk *desk);

#endif
