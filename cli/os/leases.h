/* Finds out whether files are leased or open elsewhere (fcntl, F_SETLEASE). If a leased file is
 * opened, the kernel sends the lease's holder a signal, which ends a program that does not expect
 * it. So the command does not open files that a job has leased. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Returns true if a process holds a lease on a file with this inode number, on any file system.
 * False if the locks of the system cannot be read. */
bool lease_is_held(uint64_t ino);

/* Returns true unless `fd` alone has its file open. The kernel gives a write lease only if no other
 * descriptor or map of the file exists, in any process. A process that opens the file at that
 * moment waits until the lease is returned, and the caller gets SIGIO. On a file system that hides
 * maps the answer is true. */
bool lease_finds_open(int fd);
