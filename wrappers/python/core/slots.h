/*
 * Slots for Python (ring/): in a worker its ring, whose pieces tensors are made over (lend.c); in
 * its main process what was borrowed from workers (borrow.c). Both are buffers, so nothing of torch
 * is known here: whoever has a tensor, a view or an array over one holds the object, and its end is
 * what is noticed.
 *
 * All of it is under the GIL. After a fork, objects of the parent's let go of nothing that is the
 * parent's.
 */
#ifndef STK_PYTHON_SLOTS_H
#define STK_PYTHON_SLOTS_H

#include "wrappers/python/core/core.h"

/* An object of one of the module's own types, filled with zeros; NULL with an exception set. */
PyObject *slots_new(PyObject *module, const char *type);
/* To be called last in such an object's tp_dealloc. */
void slots_free(PyObject *object);

/* Adds the types to the module: 0, or -1 with an exception set. */
int slots_add_types(PyObject *module);

extern PyType_Spec lend_piece_spec, borrow_slot_spec, borrow_loan_spec;

/* The worker's ring (lend.c). */
PyObject *core_ring_begin(PyObject *module, PyObject *name);
PyObject *core_ring_take(PyObject *module, PyObject *bytes);
PyObject *core_ring_lend(PyObject *module, PyObject *address);
PyObject *core_ring_introduced(PyObject *module, PyObject *slot);
PyObject *core_ring_take_back(PyObject *module, PyObject *slot);
PyObject *core_ring_keep(PyObject *module, PyObject *unused);
PyObject *core_ring_go_on(PyObject *module, PyObject *unused);
PyObject *core_ring_leave(PyObject *module, PyObject *unused);
PyObject *core_ring_end(PyObject *module, PyObject *unused);
PyObject *core_ring_hold(PyObject *module, PyObject *address);

/* What was borrowed (borrow.c). */
PyObject *core_borrow(PyObject *module, PyObject *fd);
PyObject *core_borrowed_at(PyObject *module, PyObject *address);
PyObject *core_borrowed_hold(PyObject *module, PyObject *address);

#endif
