/* The names under which the programs look for things: see tests/lib/storage/dataset.py. */
#pragma once

/* Relative to BASE/data, where the programs run; absolute_path() gives the same under BASE. */
extern const char *const interesting_paths[];
extern const unsigned interesting_count;

/* "BASE/data/PATH" in a buffer of the calling thread, good until the next call. */
const char *absolute_path(const char *path);
/* "BASE/PATH", the same. */
const char *path_in_base(const char *path);
