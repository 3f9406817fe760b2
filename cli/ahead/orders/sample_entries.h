/*
 * The files that a data set's samples have opened, packed: ImageNet has some 40 bytes a file.
 *
 * The caller holds a lock for all of it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/path.h"

#define SAMPLE_FILES       4          /* of a sample */
#define SAMPLE_FILES_BYTES (64 << 20) /* of memory, for all data sets; what is more is left out */
#define SAMPLE_MOST_SHARED 255        /* bytes that a path shares with the data set's first one */

/*
 * All zero: nothing is known. Behind the first byte, `texts` has the data set's first path, and
 * then an entry for each sample. An entry begins with the number of the sample's files. Each file
 * has the number of bytes that its path shares with the first path, and the rest of the path with
 * its zero.
 */
struct sample_entries {
    uint32_t *places; /* in `texts`, of each sample's entry, by its index; 0: unknown */
    size_t samples;   /* that `places` has room for */
    char *texts;
    size_t used, room;
    unsigned width; /* the greatest number of files that a sample has */
};

/* Paths of a sample, which are the caller's. */
struct sample_paths {
    const char *paths[SAMPLE_FILES];
    unsigned count;
};

/* Remembers at least one path, in the place of what is known of the sample. */
void sample_entries_add(struct sample_entries *entries, uint64_t index,
                        const struct sample_paths *paths);
/* Forgets the samples whose entries are in the first so many bytes of the texts. */
void sample_entries_forget(struct sample_entries *entries, size_t bytes);
/* Copies `found`, whose arrays stay the caller's, to `entries`, which has none. Copies nothing if
 * that is too much. */
void sample_entries_copy(struct sample_entries *entries, const struct sample_entries *found);
/* Returns the bytes that may still be taken. */
size_t sample_entries_left(void);

/* Returns the data set's first path. There must be one. */
const char *sample_entries_first(const struct sample_entries *entries);
/* Returns the entry of a sample, which lasts until something is added, or NULL. */
const char *sample_entries_find(const struct sample_entries *entries, uint64_t index);
/* Returns the number of samples up to the last one that has an entry. */
size_t sample_entries_count(const struct sample_entries *entries);
/* Returns the number of files of an entry. */
unsigned sample_entry_files(const char *entry);
/* Returns the bytes of an entry. */
size_t sample_entry_bytes(const char *entry);
/* Writes the path of a file of an entry, from 0. Returns its length, or 0 if there is no such file.
 */
size_t sample_entry_path(const struct sample_entries *entries, const char *entry, unsigned number,
                         char path[STK_PATH_BYTES]);
