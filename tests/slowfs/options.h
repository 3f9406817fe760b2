/* The command line of slowfs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct slow_options {
    const char *source, *mountpoint;
    const char *control;                /* or NULL */
    const char *name;                   /* what mounts call it; or NULL: the source */
    uint64_t latency_ns, bytes_per_s;   /* 0: no limit */
    double attr_timeout, entry_timeout; /* seconds */
    unsigned threads;
    bool daemon, readonly, allow_other, direct_io, exit_with_stdin;
};

/* Reads the command line. On a mistake, or when only help was asked for, it prints and exits:
 * a program's main may do so. The strings stay the caller's argv. */
void slow_options_read(int argc, char **argv, struct slow_options *options);
