/*
 * Lists the files below some directories, with as many threads as call at the same time: on a
 * network a directory costs several round trips.
 *
 * Links are listed as files, whatever they lead to, and directories behind links are not entered. A
 * very large set comes in batches, so that its names never have to be in memory all at once.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/fill/first_failure.h"

/* One file: DIRECTORY/NAME. */
struct scanned_file {
    uint64_t position;            /* the number of its inode, or its place on a disk */
    bool link;                    /* it may lead to anything */
    const char *directory, *name; /* owned by the scan, until the batch is dropped */
};

struct tree_scan_directory;

struct tree_scan {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct tree_scan_directory *pending, *listed;
    unsigned busy; /* threads that list a directory now */
    size_t count, room;
    struct scanned_file *files;  /* the batch */
    _Atomic uint64_t found;      /* files of all batches */
    _Atomic uint64_t unreadable; /* directories that could not be listed */
    struct first_failure failed; /* the first of them */
    const atomic_bool *stop;
    bool (*wanted)(const struct scanned_file *file);
};

/* Begins a zeroed scan, whose figures may be read even before. `wanted` returns true for a file
 * that shall be listed; NULL: all files. One thread at a time calls it. Each listing ends when
 * `stop` becomes true. */
void tree_scan_begin(struct tree_scan *scan, bool (*wanted)(const struct scanned_file *file),
                     const atomic_bool *stop);
/* Adds an absolute path: a file, or a directory with everything below it. */
void tree_scan_add(struct tree_scan *scan, const char *path);
/* Lists until the batch is full or nothing is left, beside other threads that do so. */
void tree_scan_work(struct tree_scan *scan);
/* Returns true if another batch would have files. Not beside threads that list. */
bool tree_scan_has_more(const struct tree_scan *scan);
/* Sorts the batch. */
void tree_scan_sort(struct tree_scan *scan);
/* Frees the batch. */
void tree_scan_drop(struct tree_scan *scan);
