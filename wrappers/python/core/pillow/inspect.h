/* Python objects that were looked at, and whether they changed since. */
#ifndef STK_PYTHON_PILLOW_INSPECT_H
#define STK_PYTHON_PILLOW_INSPECT_H

#include "wrappers/python/core/common/limited_api.h"

/* Functions of the module: see _core.pyi. */
PyObject *core_are_as_seen(PyObject *module, PyObject *seen);
PyObject *core_found(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

#endif
