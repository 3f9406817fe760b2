/* How long opens take on a file system. A measurement opens files there, and blocks for as long as
 * its server does. */
#pragma once

#include <stdint.h>

/* Opens up to ten files below a directory and reads a byte of each, or does so with one file.
 * Returns the time in nanoseconds within which half of the opens end; 0: there was no file that
 * could be read. Takes no heap. */
int64_t open_time_below_ns(const char *path);
/* The cost of a cached file: of its open with the first byte, and of each byte. */
struct open_cost {
    int64_t open_ns; /* 0: not known */
    double byte_ns;
};
/* Opens a file of 1 MiB without a name, which it makes in a tier's directory, ten times, and reads
 * it. */
struct open_cost open_time_of_tier(const char *directory);
