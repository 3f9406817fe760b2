/*
 * The control file of slowfs: the latency that it adds, and one counter per kind of operation.
 * Safe in threads: everything is a single atomic word. Knows nothing of FUSE.
 *
 * Layout: SLOW_CONTROL_BYTES bytes, little-endian u64 words, mapped shared.
 *   word 0  magic, "slowfs\0\0"
 *   word 1  version, 1
 *   word 2  latency in ns: read before each delayed operation, so others may write it at any time
 *   word 3  the first counter; the others follow in the order of SLOW_COUNTERS
 *   word 64 what shall go wrong; layout in faults.h
 * Counters only rise while slowfs runs: readers take differences instead of writing zeros.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define SLOW_CONTROL_BYTES 4096
#define SLOW_MAGIC         0x00007366776f6c73ULL /* "slowfs\0\0" as a little-endian word */
#define SLOW_VERSION       1
#define SLOW_FIRST_COUNTER 3

/*
 * "file" means a regular file, "other" everything else: directories, links, devices.
 * A lookup counts by what it found; "lookup_negative" found nothing or failed.
 * "others": mkdir, mknod, rmdir, symlink, link, fsync, fallocate, lseek, set/list/removexattr.
 * slowfs.py holds the same list; `slowfs --list-counters` lets a test compare the two.
 */
#define SLOW_COUNTERS(X)                                                                           \
    X(open)                                                                                        \
    X(read)                                                                                        \
    X(read_bytes)                                                                                  \
    X(getattr_file)                                                                                \
    X(lookup_file)                                                                                 \
    X(getattr_other)                                                                               \
    X(lookup_other)                                                                                \
    X(lookup_negative)                                                                             \
    X(opendir)                                                                                     \
    X(readdir)                                                                                     \
    X(readlink)                                                                                    \
    X(write)                                                                                       \
    X(create)                                                                                      \
    X(setattr)                                                                                     \
    X(unlink)                                                                                      \
    X(rename)                                                                                      \
    X(getxattr)                                                                                    \
    X(release)                                                                                     \
    X(statfs)                                                                                      \
    X(others)

#define SLOW_ENUM(name) SLOW_##name,
enum slow_counter { SLOW_COUNTERS(SLOW_ENUM) SLOW_COUNTER_COUNT };
#undef SLOW_ENUM

/* Creates (or starts again) the control file and maps it; with path NULL the words are private.
 * 0 or -errno. Call once, before any other thread starts. */
int slow_control_open(const char *path, uint64_t latency_ns);

/* The name of a counter, as above. */
const char *slow_control_name(enum slow_counter counter);

/* A word of the control file. */
_Atomic uint64_t *slow_control_word(unsigned number);

void slow_count(enum slow_counter counter);
void slow_count_add(enum slow_counter counter, uint64_t amount);

/* Sleeps for the latency: once per operation that a network file system would send. */
void slow_delay(void);

/* How much all slow_pass() together let through; 0: everything, which is so until this is called.
 * Call it before any other thread starts. */
void slow_set_bandwidth(uint64_t bytes_per_s);
/* Sleeps until so many bytes have come through the one line that all share. */
void slow_pass(uint64_t bytes);

/* The usual case: an operation whose kind is known before it is done. */
void slow_begin(enum slow_counter counter);
