/*
 * Leases that others hold (fcntl, F_SETLEASE): who opens such a file has the kernel send its holder
 * a signal, which ends a program that does not expect it. So the command opens none of a job's.
 */
#ifndef STK_CLI_LEASES_H
#define STK_CLI_LEASES_H

#include <stdbool.h>
#include <stdint.h>

/* Whether there is one on a file with this inode number, of whatever file system. */
bool lease_is_held(uint64_t ino);

#endif
