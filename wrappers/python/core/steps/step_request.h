/* Steps as Python passes them. */
#pragma once

#include "wrappers/python/core/common/limited_api.h"
#include "wrappers/python/core/steps/steps.h"

/* Reads steps from a tuple of tuples (kind, filter, height, width, values). Further elements of a
 * step are the caller's. Returns 0, or -1 with an exception set. */
int steps_of(struct steps *steps, PyObject *tuple);
/* Returns the generator's state in this memory, or NULL with an exception set if it is none from
 * which numbers can be drawn. */
struct numbers *numbers_in(void *memory, size_t bytes);
