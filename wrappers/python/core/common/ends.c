#include "wrappers/python/core/common/ends.h"

int ends_add(PyObject **ends, PyObject *function)
{
    if (*ends == NULL) {
        *ends = PyList_New(0);
    }
    return *ends == NULL ? -1 : PyList_Append(*ends, function);
}

static void call_all(PyObject *ends)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (Py_ssize_t i = 0; i < PyList_Size(ends); i++) {
        Py_XDECREF(PyObject_CallNoArgs(PyList_GetItem(ends, i)));
        PyErr_Clear();
    }
    PyErr_Restore(type, value, traceback);
}

void ends_call(PyObject **ends)
{
    PyObject *all = *ends;
    *ends = NULL;
    if (all != NULL) {
        call_all(all);
        Py_DECREF(all);
    }
}
