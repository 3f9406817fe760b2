/* Making and freeing objects; functions for which no other file is the place. */
#include "wrappers/python/core/common/objects.h"

#include <errno.h>

#include "base/trusted_path.h"
#include "wrappers/python/core/common/functions.h"

PyObject *object_new(PyObject *module, const char *name)
{
    HELD PyObject *type = PyObject_GetAttrString(module, name);
    return type != NULL ? PyType_GenericAlloc((PyTypeObject *)type, 0) : NULL;
}

void object_free(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

int take_u32(PyObject *object, void *out)
{
    HELD PyObject *number = PyNumber_Index(object);
    if (number == NULL) {
        return 0;
    }
    unsigned long long value = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred() != NULL) {
        return 0;
    }
    if (value > UINT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "a number beyond 32 bits");
        return 0;
    }
    *(uint32_t *)out = (uint32_t)value;
    return 1;
}

/*
 * publish(dictionary, key, expected, value): puts the value in, if what is there is still the
 * expected object. Nothing of Python's runs between the look and the change, so that of two threads
 * one wins. Returns true if it was put in.
 */
PyObject *core_publish(PyObject *module, PyObject *arguments)
{
    PyObject *dictionary, *key, *expected, *value;
    if (!PyArg_ParseTuple(arguments, "O!UOO", &PyDict_Type, &dictionary, &key, &expected, &value)) {
        return NULL;
    }
    PyObject *there = PyDict_GetItemWithError(dictionary, key);
    if (there != expected) {
        return PyErr_Occurred() != NULL ? NULL : PyBool_FromLong(0);
    }
    return PyDict_SetItem(dictionary, key, value) == 0 ? PyBool_FromLong(1) : NULL;
}

/* memory_at(address, bytes): the memory at an address, for writing. Valid while the caller holds
 * its owner. */
PyObject *core_memory_at(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2) {
        return PyErr_Format(PyExc_TypeError, "an address, and how many bytes");
    }
    char *address = PyLong_AsVoidPtr(arguments[0]);
    Py_ssize_t bytes = PyLong_AsSsize_t(arguments[1]);
    return PyErr_Occurred() != NULL ? NULL : PyMemoryView_FromMemory(address, bytes, PyBUF_WRITE);
}

/* open_own(path, make): returns the directory's descriptor (base/trusted_path.h), or raises
 * OSError. */
PyObject *core_open_own(PyObject *module, PyObject *arguments)
{
    HELD PyObject *path = NULL;
    int make, fd;
    if (!PyArg_ParseTuple(arguments, "O&p", PyUnicode_FSConverter, &path, &make)) {
        return NULL;
    }
    WITHOUT_GIL(fd = stk_trusted_path_open(PyBytes_AsString(path), make != 0));
    if (fd >= 0) {
        return PyLong_FromLong(fd);
    }
    errno = -fd;
    return PyErr_SetFromErrno(PyExc_OSError);
}
