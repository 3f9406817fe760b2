/*
 * Which file a descriptor is, in which version: what may stand for the bytes that were read of it.
 */
#ifndef STK_PYTHON_IDENTITY_H
#define STK_PYTHON_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"

/*
 * A hash of where the descriptor leads and of its device, inode, size, mtime and ctime. False where
 * nobody vouches for them: no regular file, one that changed less than so many nanoseconds ago, or
 * no answer. On file systems that are not local the server is asked. Of an entry the preload tells
 * what is known of its origin.
 */
bool identity_of(int fd, int64_t min_age_ns, struct stk_hash128 *out);

#endif
