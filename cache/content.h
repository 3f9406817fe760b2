/*
 * What a file's first bytes say of it: some are written to in their place while others read them,
 * which agree on that by locks, or by looking again. A copy would stay as it is. Pure.
 */
#ifndef STK_CACHE_CONTENT_H
#define STK_CACHE_CONTENT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether these bytes, read at that offset, begin a file of such a kind: a database of SQLite, or
 * HDF5 that is open for writing and says so, as it does for readers beside the writer (SWMR).
 */
bool stk_content_is_shared(const char *bytes, uint64_t count, uint64_t offset);

#endif
