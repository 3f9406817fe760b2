/*
 * Slots for Python (ring/). In a worker lend.c has the ring; tensors are made over its pieces. In
 * the main process borrow.c has the loans of workers. Both are buffers, so these files know nothing
 * of torch: a tensor, a view or an array over a buffer holds the object, and the object's end ends
 * the loan.
 *
 * The GIL must be held. In a child of fork, objects of the parent release nothing that belongs to
 * the parent.
 */
#pragma once

#include "wrappers/python/core/common/limited_api.h"

extern PyType_Spec lend_piece_spec, borrow_slot_spec, borrow_loan_spec;
