/* Declares the functions of the module (functions.def). */
#pragma once

#include "wrappers/python/core/common/limited_api.h"

#define NONE(name)  PyObject *core_##name(PyObject *module, PyObject *unused);
#define ONE(name)   PyObject *core_##name(PyObject *module, PyObject *argument);
#define TUPLE(name) PyObject *core_##name(PyObject *module, PyObject *arguments);
#define ARRAY(name)                                                                                \
    PyObject *core_##name(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
#include "wrappers/python/core/common/functions.def"
#undef NONE
#undef ONE
#undef TUPLE
#undef ARRAY
