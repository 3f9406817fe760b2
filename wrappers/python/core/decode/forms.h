/* The sample store as Python sees it. */
#ifndef STK_PYTHON_DECODE_FORMS_H
#define STK_PYTHON_DECODE_FORMS_H

#include "wrappers/python/core/common/limited_api.h"

/* Functions of the module: see _core.pyi. */
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
PyObject *core_decode_stored(PyObject *module, PyObject *arguments);
PyObject *core_decode_form(PyObject *module, PyObject *arguments);
PyObject *core_check_stored(PyObject *module, PyObject *object);

#endif
