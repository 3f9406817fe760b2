/*
 * Reads all pages of a value in a mapped file at once. Touched one by one, each page would wait for
 * the disk.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Returns when the bytes are in memory. Returns false if the disk cannot read them: touching them
 * would then end the process by a signal. Linux before 5.14 does not report a failed read, and
 * reads while the caller goes on. */
bool stk_prefetch_read(const void *data, size_t bytes);
