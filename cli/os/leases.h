/* Leases that other processes hold (fcntl, F_SETLEASE). If a leased file is opened, the kernel
 * sends the lease's holder a signal, which ends a program that does not expect it. So the command
 * does not open files that a job has leased. */
#ifndef STK_CLI_OS_LEASES_H
#define STK_CLI_OS_LEASES_H

#include <stdbool.h>
#include <stdint.h>

/* Returns true if a process holds a lease on a file with this inode number, on any file system. */
bool lease_is_held(uint64_t ino);

#endif
