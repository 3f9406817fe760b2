/* Resizing of the images that Pillow keeps in memory. */
#ifndef STK_PYTHON_PILLOW_PILLOW_H
#define STK_PYTHON_PILLOW_PILLOW_H

#include "wrappers/python/core/common/limited_api.h"

/* Functions of the module: see _core.pyi. */
PyObject *core_memory(PyObject *module, PyObject *arguments);
PyObject *core_resize(PyObject *module, PyObject *arguments);

#endif
