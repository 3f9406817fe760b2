/*
 * Slots for Python (ring/). In a worker lend.c has the ring; tensors are made over its pieces. In
 * the main process borrow.c has the loans of workers. Both are buffers, so these files know nothing
 * of torch: a tensor, a view or an array over a buffer holds the object, and the object's end ends
 * the loan.
 *
 * The GIL must be held. In a child of fork, objects of the parent release nothing that belongs to
 * the parent.
 */
#ifndef STK_PYTHON_SHM_SHM_H
#define STK_PYTHON_SHM_SHM_H

#include "wrappers/python/core/common/limited_api.h"

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

/* The loans of workers (borrow.c). */
PyObject *core_borrow(PyObject *module, PyObject *fd);
PyObject *core_borrowed_at(PyObject *module, PyObject *address);
PyObject *core_borrowed_hold(PyObject *module, PyObject *address);

#endif
