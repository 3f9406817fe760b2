/*
 * Ranges of big files, as preload/serve/opened.h notes them, and how many of their bytes may be
 * ahead of the job.
 *
 * Safe in threads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range_name {
    size_t path_length;
    uint64_t offset, bytes; /* their sum is a valid offset */
    bool opened;            /* the sample opens the file anew, which a "!" at the end says */
};

/* Takes the name of a range apart. Returns false if it is a path. */
bool range_name_parse(const char *name, struct range_name *out);
/* Returns how many bytes may be ahead of the job, by the memory that was available within the last
 * second. */
uint64_t range_window_bytes(void);
