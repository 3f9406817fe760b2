/*
 * Memory of a batch's size, as the system gives it: what a Stock keeps and lends. See area.c.
 *
 * Under the GIL, but for its bytes.
 */
#ifndef STK_PYTHON_FEED_AREA_H
#define STK_PYTHON_FEED_AREA_H

#include <stdbool.h>
#include <stddef.h>

#include "wrappers/python/core/core.h"

extern PyType_Spec feed_area_spec;

/* One that is mapped as long as the object is there; `shared`: children of a fork see what is
 * written there. NULL with an exception set. */
PyObject *feed_area_make(PyObject *module, size_t bytes, bool shared);

void *feed_area_address(PyObject *area);
size_t feed_area_bytes(PyObject *area);

/* Whether this process has made it, and not one that forked it. */
bool feed_area_is_own(PyObject *area);

/* feed_area_at(address): the Area in which it lies; None: in none. */
PyObject *core_feed_area_at(PyObject *module, PyObject *address);

#endif
