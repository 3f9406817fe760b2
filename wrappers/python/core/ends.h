/*
 * What somebody wants called when memory goes: Python functions, for whoever has the memory.
 *
 * Under the GIL.
 */
#ifndef STK_PYTHON_ENDS_H
#define STK_PYTHON_ENDS_H

#include "wrappers/python/core/core.h"

/* Has it called as well. `ends` is NULL as long as there are none: 0, or -1 with an exception set.
 */
int ends_add(PyObject **ends, PyObject *function);

/* Calls all of them, in their order, once. Whoever is called does not fail, or nobody hears of it:
 * this may be the end of any object. An exception that is set stays so. */
void ends_call(PyObject **ends);

#endif
