/*
 * Memory of a batch's size, mapped as a whole. A BufferPool keeps and lends it.
 *
 * The GIL must be held, except for access to the bytes.
 */
#ifndef STK_PYTHON_FEED_BATCH_BUFFER_H
#define STK_PYTHON_FEED_BATCH_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

#include "wrappers/python/core/common/limited_api.h"

extern PyType_Spec feed_buffer_spec;

/* Makes a buffer, which is mapped for as long as the object lives. If it is `shared`, children of a
 * fork see later writes. Returns NULL with an exception set. */
PyObject *batch_buffer_make(PyObject *module, size_t bytes, bool shared);

void *batch_buffer_address(PyObject *buffer);
size_t batch_buffer_bytes(PyObject *buffer);

/* Returns true if this process made the buffer; false in a child of it. */
bool batch_buffer_is_own(PyObject *buffer);

#endif
