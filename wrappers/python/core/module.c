/*
 * stoker._core: its functions and its types. Nothing is decided here: which images are decoded is
 * stoker/_pillow/hook.py's matter.
 */
#include "wrappers/python/core/common/counts.h"
#include "wrappers/python/core/common/limited_api.h"
#include "wrappers/python/core/common/objects.h"
#include "wrappers/python/core/common/own.h"
#include "wrappers/python/core/decode/forms.h"
#include "wrappers/python/core/decode/pixels.h"
#include "wrappers/python/core/feed/batch_buffer.h"
#include "wrappers/python/core/feed/feed.h"
#include "wrappers/python/core/pillow/inspect.h"
#include "wrappers/python/core/pillow/pillow.h"
#include "wrappers/python/core/shm/shm.h"

/* A function that takes its arguments as they lie. */
#define FAST(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef methods[] = {
    {"probe", core_probe, METH_O, NULL},
    {"frame", core_frame, METH_O, NULL},
    {"decode", core_decode, METH_VARARGS, NULL},
    {"transform", core_transform, METH_VARARGS, NULL},
    {"attach", core_attach, METH_VARARGS, NULL},
    {"find", core_find, METH_O, NULL},
    {"identify", core_identify, METH_O, NULL},
    {"file_bytes", core_file_bytes, METH_O, NULL},
    {"wants_link", core_wants_link, METH_O, NULL},
    {"holds", FAST(core_holds), METH_FASTCALL, NULL},
    {"find_path", core_find_path, METH_O, NULL},
    {"identify_path", core_identify_path, METH_O, NULL},
    {"tell_served", core_tell_served, METH_O, NULL},
    {"tell_decoded", FAST(core_tell_decoded), METH_FASTCALL, NULL},
    {"decode_stored", core_decode_stored, METH_VARARGS, NULL},
    {"decode_form", core_decode_form, METH_VARARGS, NULL},
    {"check_stored", core_check_stored, METH_O, NULL},
    {"open_own", core_open_own, METH_VARARGS, NULL},
    {"memory", core_memory, METH_VARARGS, NULL},
    {"resize", core_resize, METH_VARARGS, NULL},
    {"table", core_table, METH_VARARGS, NULL},
    {"publish", core_publish, METH_VARARGS, NULL},
    {"memory_at", FAST(core_memory_at), METH_FASTCALL, NULL},
    {"simd", core_simd, METH_NOARGS, NULL},
    {"are_as_seen", core_are_as_seen, METH_O, NULL},
    {"found", FAST(core_found), METH_FASTCALL, NULL},
    {"join", core_join, METH_O, NULL},
    {"count", FAST(core_count), METH_FASTCALL, NULL},
    {"counts", core_counts, METH_NOARGS, NULL},
    {"begin_pass", core_begin_pass, METH_VARARGS, NULL},
    {"add_pass", core_add_pass, METH_VARARGS, NULL},
    {"ring_begin", core_ring_begin, METH_O, NULL},
    {"ring_take", core_ring_take, METH_O, NULL},
    {"ring_lend", core_ring_lend, METH_O, NULL},
    {"ring_introduced", core_ring_introduced, METH_O, NULL},
    {"ring_take_back", core_ring_take_back, METH_O, NULL},
    {"ring_keep", core_ring_keep, METH_NOARGS, NULL},
    {"ring_go_on", core_ring_go_on, METH_NOARGS, NULL},
    {"ring_leave", core_ring_leave, METH_NOARGS, NULL},
    {"ring_end", core_ring_end, METH_NOARGS, NULL},
    {"ring_hold", core_ring_hold, METH_O, NULL},
    {"borrow", core_borrow, METH_O, NULL},
    {"borrowed_at", core_borrowed_at, METH_O, NULL},
    {"borrowed_hold", core_borrowed_hold, METH_O, NULL},
    {"feed_thread_pool", core_feed_thread_pool, METH_VARARGS, NULL},
    {"feed_buffer_pool", core_feed_buffer_pool, METH_VARARGS, NULL},
    {"feed_buffer_at", core_feed_buffer_at, METH_O, NULL},
    {"feed_words", core_feed_words, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* 0, or -1 with an exception set. */
static int add_types(PyObject *module)
{
    PyType_Spec *const specs[] = {&lend_piece_spec,       &borrow_slot_spec, &borrow_loan_spec,
                                  &feed_thread_pool_spec, &feed_files_spec,  &feed_buffer_pool_spec,
                                  &feed_buffer_spec,      &feed_memory_spec, NULL};
    for (PyType_Spec *const *spec = specs; *spec != NULL; spec++) {
        PyObject *type = PyType_FromModuleAndSpec(module, *spec, NULL);
        int status = type == NULL ? -1 : PyModule_AddType(module, (PyTypeObject *)type);
        Py_XDECREF(type);
        if (status != 0) {
            return -1;
        }
    }
    return 0;
}

/* Py_mod_exec is a pointer to an object, by its type. */
static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)(uintptr_t)add_types}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_core", NULL, 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__core(void);

/* In several phases: each subinterpreter that allows it gets a module of its own. */
PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
