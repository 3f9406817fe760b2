/*
 * Keeps from run to run what samples of data sets have opened (sample_files.h): a file for each
 * data set in XDG_STATE_HOME/stoker/samples (cli/os/state_dir.h), which no other user can read. A
 * file is written under another name and renamed into place. One that is cut, damaged or of another
 * version of Stoker is none.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define KEPT_SAMPLES_FILES 16         /* the newest, and */
#define KEPT_SAMPLES_BYTES (64 << 20) /* no more than that in all */

/* The begin of a file. Behind it come a uint32_t for each sample, which is its place among the
 * texts or 0, and then the texts. */
struct kept_samples {
    uint64_t magic, check; /* kept_samples_write() sets both */
    uint64_t dataset;
    uint64_t samples, text_bytes;
    uint64_t width; /* files of a sample, at most */
};

/* Opens the directory, without which nothing is read and written. It may wait for a home on a
 * server that does not answer, so a thread of its own calls this. */
void kept_samples_open(void);
/* Returns what is kept of a data set, with all behind it, if that has no more than `most` bytes.
 * Returns NULL if there is none. The caller frees. */
struct kept_samples *kept_samples_read(uint64_t dataset, size_t most);
/* Writes this with all behind it, in place of what was kept of its data set. Drops the oldest. */
void kept_samples_write(struct kept_samples *kept);
/* Removes what is kept of a data set. */
void kept_samples_drop(uint64_t dataset);
