/*
 * What the sources of stoker._core share. Only this directory includes Python.h, and of it only
 * what every Python from 3.11 on has (the limited API).
 */
#ifndef STK_PYTHON_CORE_H
#define STK_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030b0000
#endif
#include <Python.h>

#include "decode/decode.h"

/* This thread's decoder, made at the first call and freed when the thread ends. NULL: no memory. */
struct stk_decoder *thread_decoder(void);

/* A plan as Python passes it, and the buffers that must be held while it is carried out. */
struct request {
    struct stk_plan plan;
    Py_buffer table;
    int has_table;
    PyObject *result; /* what the call returns: the caller's buffer, or new bytes */
    Py_buffer out;
    int has_out;
    struct stk_target target;
};

/* For "O&": an int that fits in 32 bits without a sign, or OverflowError; "I" would cut it off. */
int take_u32(PyObject *object, void *out);

/* A plan from a tuple (see PLAN in core.pyi), but for its table: that is what is said in the tuple,
 * borrowed. 0, or -1 with an exception set. */
int plan_of(struct stk_plan *plan, PyObject *tuple, PyObject **table);
size_t plan_table_bytes(const struct stk_plan *plan); /* how large it has to be, if it is there */
/* Lays the result out without gaps, but for where it begins. -1: it is too large for an object. */
int plan_lay_out(const struct stk_plan *plan, struct stk_target *target);

/* Fills a request from a plan (a tuple, see PLAN in core.pyi) and the buffer `out`, or None. 0, or
 * -1 with an exception set and nothing held. */
int request_begin(struct request *request, PyObject *plan, PyObject *out);
/* Lets go of everything. Returns the call's value: the result for STK_DECODE_OK, else the status as
 * an int. */
PyObject *request_end(struct request *request, int status);

/* Pillow's own images (pillow.c). */
PyObject *core_memory(PyObject *module, PyObject *arguments);
PyObject *core_resize(PyObject *module, PyObject *arguments);

/* The sample store (kept.c). */
PyObject *core_attach(PyObject *module, PyObject *arguments);
PyObject *core_find(PyObject *module, PyObject *fd);
PyObject *core_identify(PyObject *module, PyObject *fd);
PyObject *core_file_bytes(PyObject *module, PyObject *fd);
PyObject *core_wants_link(PyObject *module, PyObject *bytes);
PyObject *core_holds(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *core_find_path(PyObject *module, PyObject *path);
PyObject *core_identify_path(PyObject *module, PyObject *path);
PyObject *core_tell_served(PyObject *module, PyObject *path);
PyObject *core_tell_decoded(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *core_decode_kept(PyObject *module, PyObject *arguments);
PyObject *core_decode_form(PyObject *module, PyObject *arguments);
PyObject *core_check_kept(PyObject *module, PyObject *object);
PyObject *core_open_own(PyObject *module, PyObject *arguments);

/* What probe() says: a tuple, see core.pyi. */
PyObject *probed(const struct stk_jpeg_info *info, int sound);

/* What changed since it was looked at (seen.c). */
PyObject *core_are_as_seen(PyObject *module, PyObject *seen);
PyObject *core_found(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

/* Counting (counts.c). */
void count_more(unsigned slot, uint64_t count);
PyObject *core_count(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *core_counts(PyObject *module, PyObject *unused);
PyObject *core_begin_pass(PyObject *module, PyObject *arguments);
PyObject *core_add_pass(PyObject *module, PyObject *arguments);
PyObject *core_join(PyObject *module, PyObject *run);

#endif
