/* Plans and targets as Python passes them. */
#pragma once

#include "decode/decode.h"
#include "wrappers/python/core/common/limited_api.h"

/* A plan as Python passes it, and the buffers that must be held while the plan is carried out. A
 * buffer of zeros holds nothing. */
struct plan_request {
    struct stk_plan plan;
    Py_buffer table;
    PyObject *result; /* the call's result: the caller's buffer, or new bytes */
    Py_buffer out;
    struct stk_target target;
};

/*
 * A plan is a tuple (geometry, resizer, layout) of Python's, with the numbers of struct
 * stk_plan:
 *
 *     geometry   (crop, (width, height), filter, flip, window or None, turn)
 *     layout     (channels, layout, type, table)
 *
 * Each function that reads a part returns 0, or -1 with an exception set. geometry_of() begins a
 * plan: it sets all else to 0. The table is left out: `*table` is the tuple's object, borrowed.
 */
int plan_of(struct stk_plan *plan, PyObject *tuple, PyObject **table);
int geometry_of(struct stk_plan *plan, PyObject *tuple);
int layout_of(struct stk_plan *plan, PyObject *tuple, PyObject **table);
/* Returns the geometry of a plan, or NULL with an exception set. */
PyObject *geometry_from(const struct stk_plan *plan);
size_t plan_table_bytes(const struct stk_plan *plan); /* the size that its table must have */
/* Computes the size of the plan's result. */
void plan_size(const struct stk_plan *plan, uint32_t *width, uint32_t *height);
/* Lays the result out without gaps; only its address is left to be set. Returns -1 if it is too
 * large for an object. */
int plan_lay_out(const struct stk_plan *plan, struct stk_target *target);

/* Fills a request from a plan and the buffer `out`, or None.
 * Returns 0, or -1 with an exception set and nothing held. */
int request_begin(struct plan_request *request, PyObject *plan, PyObject *out);
/* Releases all buffers. Returns the call's value: the result for STK_DECODE_OK, else the status as
 * an int. */
PyObject *request_end(struct plan_request *request, int status);
