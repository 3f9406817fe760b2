/*
 * stoker._core: its functions and its types. Nothing is decided here: which images are decoded is
 * stoker/_pillow/hook.py's matter.
 */
#include <time.h>

#include "base/tally.h"
#include "wrappers/python/core/common/functions.h"
#include "wrappers/python/core/feed/feed.h"
#include "wrappers/python/core/shm/shm.h"
#include "wrappers/python/core/steps/steps.h"

/* A function that takes its arguments as they lie. */
#define FAST(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef methods[] = {
#define NONE(name)  {#name, core_##name, METH_NOARGS, NULL},
#define ONE(name)   {#name, core_##name, METH_O, NULL},
#define TUPLE(name) {#name, core_##name, METH_VARARGS, NULL},
#define ARRAY(name) {#name, FAST(core_##name), METH_FASTCALL, NULL},
#include "wrappers/python/core/common/functions.def"
#undef NONE
#undef ONE
#undef TUPLE
#undef ARRAY
    {NULL, NULL, 0, NULL},
};

/* 0, or -1 with an exception set. */
static int add_types(PyObject *module)
{
    PyType_Spec *const specs[] = {
        &lend_piece_spec, &borrow_slot_spec,      &borrow_loan_spec, &feed_thread_pool_spec,
        &feed_files_spec, &feed_buffer_pool_spec, &feed_memory_spec, NULL};
    for (PyType_Spec *const *spec = specs; *spec != NULL; spec++) {
        HELD PyObject *type = PyType_FromModuleAndSpec(module, *spec, NULL);
        if (type == NULL || PyModule_AddType(module, (PyTypeObject *)type) != 0) {
            return -1;
        }
    }
    return 0;
}

static const struct {
    const char *name;
    int value;
} numbers[] = {
#define COUNTER(slot, name, meaning) {#slot, STK_TALLY_##slot},
#include "base/tally.def"
#undef COUNTER
#define STEP(kind) {"STEP_" #kind, STEP_##kind},
#include "wrappers/python/core/steps/kinds.def"
#undef STEP
};

/* Adds the counters' numbers, for count(), and those of the kinds of steps. 0, or -1 with an
 * exception set. */
static int add_numbers(PyObject *module)
{
    int status = 0;
    for (size_t i = 0; status == 0 && i < sizeof numbers / sizeof numbers[0]; i++) {
        status = PyModule_AddIntConstant(module, numbers[i].name, numbers[i].value);
    }
    return status;
}

/* Adds when this file was loaded, by the clock of files' times: a file that changes later is
 * another one than the process has. 0, or -1 with an exception set. */
static int add_time(PyObject *module)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    HELD PyObject *loaded = PyLong_FromLongLong((long long)now.tv_sec * 1000000000 + now.tv_nsec);
    return loaded == NULL ? -1 : PyModule_AddObjectRef(module, "LOADED_NS", loaded);
}

static int fill(PyObject *module)
{
    return add_types(module) != 0 || add_numbers(module) != 0 ? -1 : add_time(module);
}

/* Py_mod_exec is a pointer to an object, by its type. */
static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)(uintptr_t)fill}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_core", NULL, 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__core(void);

/* In several phases: each subinterpreter that allows it gets a module of its own. */
PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
