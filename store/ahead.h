/*
 * Reading ahead in a map of a file on a disk: all pages of a value at once. Touched one by one,
 * each would wait for the disk.
 */
#ifndef STK_STORE_AHEAD_H
#define STK_STORE_AHEAD_H

#include <stdbool.h>
#include <stddef.h>

/* Returns when it is in memory. False: the disk cannot read it, and whoever touched it would be
 * ended by a signal. Linux before 5.14 does not tell, and reads while the caller goes on. */
bool stk_ahead_read(const void *data, size_t bytes);

#endif
