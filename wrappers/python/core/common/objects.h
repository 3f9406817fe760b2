/* Making and freeing objects of the module's own types; small functions on Python's objects. */
#pragma once

#include "wrappers/python/core/common/limited_api.h"

/* Defines the spec of a type that only functions of the module make objects of. Behind the struct
 * of its objects come its slots. */
#define OBJECT_SPEC(spec, name, object, ...)                                                       \
    PyType_Spec spec = {"stoker._core." name, sizeof(object), 0,                                   \
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,                    \
                        (PyType_Slot[]){__VA_ARGS__, {0, NULL}}}

/* Makes an object of one of the module's own types, filled with zeros. Returns NULL with an
 * exception set. */
PyObject *object_new(PyObject *module, const char *type);
/* Frees such an object. Call it last in its tp_dealloc. */
void object_free(PyObject *object);

/* Converts an int for "O&": it must fit in 32 bits without a sign, else it is an OverflowError. "I"
 * would cut it off. */
int take_u32(PyObject *object, void *out);
