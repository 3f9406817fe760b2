/*
 * Python functions to be called when memory is unmapped. The memory's owner keeps the list. The GIL
 * must be held.
 */
#ifndef STK_PYTHON_COMMON_ENDS_H
#define STK_PYTHON_COMMON_ENDS_H

#include "wrappers/python/core/common/limited_api.h"

/* Adds a function to the list, which is NULL while it is empty. Returns 0, or -1 with an exception
 * set. */
int ends_add(PyObject **ends, PyObject *function);

/* Calls all functions in their order, once. An exception of theirs is dropped, since the call may
 * come at the end of any object. An exception that is set before the call stays set. */
void ends_call(PyObject **ends);

#endif
