/*
 * Samples as a structure and leaves: dictionaries with names as keys, lists and tuples.
 *
 * A structure is None for a leaf, (list, parts), (tuple, parts) or (dict, keys, parts). The parts
 * are a tuple of structures.
 */
#include <stdbool.h>

#include "wrappers/python/core/common/functions.h"

#define MOST_DEPTH 32 /* containers in each other; a thread's stack may be small */

struct flattening {
    PyObject *leaves;
    PyObject *nodes; /* classes of containers */
    Py_ssize_t most; /* leaves */
    unsigned depth;
};

static PyObject *structure_of(PyObject *value, struct flattening *to);

/* ---- to a structure ---- */

static PyObject *of_leaf(PyObject *value, struct flattening *to)
{
    int is_node = PySequence_Contains(to->nodes, (PyObject *)Py_TYPE(value));
    if (is_node < 0) {
        return NULL;
    }
    if (is_node || PyTuple_Check(value) || PyList_Size(to->leaves) >= to->most) {
        return PyErr_Format(PyExc_ValueError, "another container, or too much");
    }
    return PyList_Append(to->leaves, value) == 0 ? Py_NewRef(Py_None) : NULL;
}

static PyObject *of_dictionary(PyObject *value, struct flattening *to)
{
    Py_ssize_t count = PyDict_Size(value), at = 0, i = 0;
    HELD PyObject *keys = PyTuple_New(count), *parts = PyTuple_New(count);
    PyObject *key, *each;
    while (keys != NULL && parts != NULL && i < count && PyDict_Next(value, &at, &key, &each)) {
        HELD PyObject *held = Py_NewRef(each);
        if (!PyUnicode_CheckExact(key)) { /* 1 equals True */
            return PyErr_Format(PyExc_ValueError, "other keys");
        }
        PyTuple_SetItem(keys, i, Py_NewRef(key));
        PyObject *part = structure_of(held, to);
        if (part == NULL || PyTuple_SetItem(parts, i++, part) != 0) {
            return NULL;
        }
    }
    if (keys == NULL || parts == NULL || i < count) {
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "it changes");
    }
    return Py_BuildValue("OOO", &PyDict_Type, keys, parts);
}

static PyObject *of_sequence(PyObject *value, Py_ssize_t count, struct flattening *to)
{
    HELD PyObject *parts = PyTuple_New(count);
    for (Py_ssize_t i = 0; parts != NULL && i < count; i++) {
        HELD PyObject *each = PySequence_GetItem(value, i);
        PyObject *part = each != NULL ? structure_of(each, to) : NULL;
        if (part == NULL || PyTuple_SetItem(parts, i, part) != 0) {
            return NULL;
        }
    }
    return parts == NULL ? NULL : Py_BuildValue("OO", Py_TYPE(value), parts);
}

static PyObject *structure_of(PyObject *value, struct flattening *to)
{
    PyObject *structure;
    if (to->depth == MOST_DEPTH) {
        return PyErr_Format(PyExc_ValueError, "too deep");
    }
    to->depth++;
    if (PyDict_CheckExact(value)) {
        structure = of_dictionary(value, to);
    } else if (PyList_CheckExact(value) || PyTuple_CheckExact(value)) {
        structure = of_sequence(value, PySequence_Size(value), to);
    } else {
        structure = of_leaf(value, to);
    }
    to->depth--;
    return structure;
}

/* flatten(value, leaves, nodes, most): returns the structure of a value, and appends up to `most`
 * leaves to a list. Raises ValueError for other containers (`nodes` has their classes), and for
 * deep ones. */
PyObject *core_flatten(PyObject *module, PyObject *arguments)
{
    PyObject *value;
    struct flattening to = {.depth = 0};
    if (!PyArg_ParseTuple(arguments, "OO!On", &value, &PyList_Type, &to.leaves, &to.nodes,
                          &to.most)) {
        return NULL;
    }
    return structure_of(value, &to);
}

/* ---- and back ---- */

static PyObject *built(PyObject *structure, PyObject *leaves, Py_ssize_t *next);

static PyObject *built_dictionary(PyObject *keys, PyObject *parts, PyObject *leaves,
                                  Py_ssize_t *next)
{
    PyObject *whole = PyDict_New();
    for (Py_ssize_t i = 0; whole != NULL && i < PyTuple_Size(parts); i++) {
        HELD PyObject *part = built(PyTuple_GetItem(parts, i), leaves, next);
        if (part == NULL || PyDict_SetItem(whole, PyTuple_GetItem(keys, i), part) != 0) {
            Py_CLEAR(whole);
        }
    }
    return whole;
}

static PyObject *built_sequence(bool is_list, PyObject *parts, PyObject *leaves, Py_ssize_t *next)
{
    Py_ssize_t count = PyTuple_Size(parts);
    PyObject *whole = is_list ? PyList_New(count) : PyTuple_New(count);
    for (Py_ssize_t i = 0; whole != NULL && i < count; i++) {
        PyObject *part = built(PyTuple_GetItem(parts, i), leaves, next);
        if (part == NULL ||
            (is_list ? PyList_SetItem(whole, i, part) : PyTuple_SetItem(whole, i, part)) != 0) {
            Py_CLEAR(whole);
        }
    }
    return whole;
}

static PyObject *built(PyObject *structure, PyObject *leaves, Py_ssize_t *next)
{
    if (structure == Py_None) {
        return Py_XNewRef(PyList_GetItem(leaves, (*next)++));
    }
    PyObject *kind = PyTuple_GetItem(structure, 0), *second = PyTuple_GetItem(structure, 1);
    if (kind == (PyObject *)&PyDict_Type) {
        return built_dictionary(second, PyTuple_GetItem(structure, 2), leaves, next);
    }
    return built_sequence(kind == (PyObject *)&PyList_Type, second, leaves, next);
}

/* unflatten(structure, leaves): the value of this structure, which has as many leaves as the list.
 */
PyObject *core_unflatten(PyObject *module, PyObject *arguments)
{
    PyObject *structure, *leaves;
    Py_ssize_t next = 0;
    if (!PyArg_ParseTuple(arguments, "OO!", &structure, &PyList_Type, &leaves)) {
        return NULL;
    }
    return built(structure, leaves, &next);
}
