/*
 * Python.h with the limited API: the part that every Python from 3.11 on has. So one binary serves
 * all of them. And words for what every function does with it.
 */
#pragma once

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030b0000
#endif
#include <Python.h>

/* Makes one call without the GIL. */
#define WITHOUT_GIL(...)                                                                           \
    do {                                                                                           \
        Py_BEGIN_ALLOW_THREADS;                                                                    \
        __VA_ARGS__;                                                                               \
        Py_END_ALLOW_THREADS;                                                                      \
    } while (0)

/* Have a reference dropped, or a buffer released, when the block of its variable is left. They
 * stand in front of a declaration that sets the variable: HELD PyObject *bytes = NULL, or
 * HELD_BUFFER Py_buffer in = {0}. NULL, and a buffer that holds nothing, are left alone. The GIL
 * must be held. */
#define HELD        __attribute__((cleanup(held_drop)))
#define HELD_BUFFER __attribute__((cleanup(PyBuffer_Release)))

static inline void held_drop(PyObject *const *object)
{
    Py_XDECREF(*object);
}
