/*
 * Files that a program writes in place while others read them, recognised by their first bytes.
 * Writer and readers agree by locks, or by looking again; a copy would never change. No state; safe
 * everywhere.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Returns true if these bytes, read at that offset, begin such a file: a database of SQLite, or
 * HDF5 that is open for writing beside readers and marked as such (SWMR). */
bool stk_database_is_shared(const char *bytes, uint64_t count, uint64_t offset);
