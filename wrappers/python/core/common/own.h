/* Directories that only this user can write. */
#ifndef STK_PYTHON_COMMON_OWN_H
#define STK_PYTHON_COMMON_OWN_H

#include "wrappers/python/core/common/limited_api.h"

/* Function of the module: see _core.pyi. */
PyObject *core_open_own(PyObject *module, PyObject *arguments);

#endif
