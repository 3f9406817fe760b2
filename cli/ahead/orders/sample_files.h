/*
 * The files that samples of data sets have opened. Processes of the job report them, and agree on a
 * number for a data set. It is a guess that a sample opens the same files in a later epoch. So what
 * a sample opens is compared with what it has opened before. The first, second, third and fourth
 * file of a sample are judged each by itself.
 *
 * The caller holds a lock for all of it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/path.h"
#include "cli/ahead/orders/sample_entries.h"

#define SAMPLE_FILES_SETS 16 /* data sets */

/* In a message: a sample, and behind it the paths that it opened, each with its zero. */
struct sample_head {
    uint64_t index;
    uint64_t bytes; /* of the paths */
};

struct sample_files;

/* Notes what samples of that data set have opened. Returns false if that is no such message. */
bool sample_files_add(uint64_t dataset, const char *message, size_t bytes);
/* Returns what is known of a data set, which stays. If that is new, it begins with what an earlier
 * run has kept (kept_samples.h). Returns NULL if there are too many data sets. */
struct sample_files *sample_files_begin(uint64_t dataset);
/* Returns what is known of a data set, which stays, or NULL. */
struct sample_files *sample_files_of(uint64_t dataset);
/* Returns the greatest number of files that a sample has opened; at least 1. */
unsigned sample_files_width(const struct sample_files *files);
/* Writes the path of a sample's file, from 0. Returns its bytes with the zero: 1 if the file is
 * unknown, or if such files were guessed wrongly. `files` may be NULL. */
size_t sample_files_path(const struct sample_files *files, uint64_t index, unsigned number,
                         char path[STK_PATH_BYTES]);
/* Returns true if samples have opened the same files again. */
bool sample_files_hold(const struct sample_files *files);
/* Counts a file that is read before it is known that these hold. */
void sample_files_note_probe(struct sample_files *files);
/* Returns how many were counted. */
unsigned sample_files_probes(const struct sample_files *files);
/* Keeps for the next run what is new in this one, and drops what was guessed wrongly. */
void sample_files_keep(void);
