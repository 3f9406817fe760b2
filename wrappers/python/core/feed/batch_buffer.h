/*
 * Memory of a batch's size, mapped as a whole. A BufferPool keeps and lends it.
 *
 * The GIL must be held, except for access to the bytes.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "wrappers/python/core/common/region.h"

struct batch_buffer {
    struct region region;
    pid_t owner; /* the process that made it */
};

/* Makes a buffer. If it is `shared`, children of a fork see later writes. Returns NULL with an
 * exception set. */
struct batch_buffer *batch_buffer_make(size_t bytes, bool shared);
/* Unmaps the memory, and frees the buffer. */
void batch_buffer_free(struct batch_buffer *buffer);

/* Returns true if this process made the buffer; false in a child of it. */
bool batch_buffer_is_own(const struct batch_buffer *buffer);
