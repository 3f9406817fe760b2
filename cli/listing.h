/*
 * The files below some directories, listed by as many threads as call at the same time: on a
 * network a directory costs several questions, each of which waits for an answer.
 *
 * Links are listed as files, whatever they lead to, and directories behind links are not entered. A
 * very large set comes in batches, so that its names never have to lie in memory all at once.
 */
#ifndef STK_CLI_LISTING_H
#define STK_CLI_LISTING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One file: DIRECTORY/NAME. */
struct listed {
    uint64_t order;               /* its inode's number, or where it lies on a disk */
    bool link;                    /* it may lead to anything */
    const char *directory, *name; /* the listing's, until the batch is dropped */
};

struct listing_directory;

struct listing {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct listing_directory *pending, *listed;
    unsigned busy; /* threads that are listing one */
    size_t count, room;
    struct listed *files;        /* the batch */
    _Atomic uint64_t found;      /* files of all batches */
    _Atomic uint64_t unreadable; /* directories that could not be listed */
    const atomic_bool *stop;
    bool (*wanted)(const struct listed *file);
};

/* The listing is zeroed; its figures may be read before. `wanted`: whether a file is to be listed
 * (NULL: all are); for one thread at a time. `stop`: ends each listing when it becomes true. */
void listing_begin(struct listing *listing, bool (*wanted)(const struct listed *file),
                   const atomic_bool *stop);
/* Adds what lies at an absolute path: a directory with all that is below it, or one file. */
void listing_add(struct listing *listing, const char *path);
/* Lists until the batch is full or nothing is left, beside other threads that do the same. */
void listing_work(struct listing *listing);
/* Whether another batch would have anything. Not beside threads that list. */
bool listing_has_more(const struct listing *listing);
/* Sorts the batch. */
void listing_sort(struct listing *listing);
/* Forgets the batch. */
void listing_drop(struct listing *listing);

#endif
