/* How long opens take on a file system. A measurement opens files there, and blocks for as long as
 * its server does. */
#ifndef STK_CLI_OS_OPEN_TIME_H
#define STK_CLI_OS_OPEN_TIME_H

#include <stdint.h>

/* Opens up to ten files below a directory and reads a byte of each, or does so with one file.
 * Returns the time in nanoseconds within which half of the opens end; 0: there was no file that
 * could be read. Takes no heap. */
int64_t open_time_below_ns(const char *path);
/* Opens a file without a name, which it makes in a directory, ten times. Returns that time; 0: no
 * such file could be made. */
int64_t open_time_unnamed_ns(const char *directory);

#endif
