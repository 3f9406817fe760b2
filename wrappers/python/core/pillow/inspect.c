/*
 * Checks that Python objects are unchanged since they were inspected: by the identity of their
 * parts, and without running their code. The inspector holds references to the parts, so no address
 * is reused.
 *
 * The record of an inspection is a tuple of containers, each followed by a tuple of its items. The
 * items of a list are its own, those of a dictionary its keys and values in turn, in its order. For
 * a class, a module or a tensor they are names and values of attributes in turn. A list of numbers
 * in the place of the items is what a tensor holds: not each change of its memory is noted in it.
 */
#include <stdbool.h>

#include "wrappers/python/core/common/functions.h"

/* Keys and values in turn, in the dictionary's order. */
static bool is_dictionary(PyObject *dictionary, PyObject *seen)
{
    Py_ssize_t at = 0, i = 0, count = PyTuple_Size(seen);
    PyObject *key, *value;
    if (PyDict_Size(dictionary) * 2 != count) {
        return false;
    }
    while (i < count && PyDict_Next(dictionary, &at, &key, &value)) {
        if (key != PyTuple_GetItem(seen, i) || value != PyTuple_GetItem(seen, i + 1)) {
            return false;
        }
        i += 2;
    }
    return true;
}

static bool is_list(PyObject *list, PyObject *seen)
{
    Py_ssize_t count = PyTuple_Size(seen);
    if (PyList_Size(list) != count) {
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (PyList_GetItem(list, i) != PyTuple_GetItem(seen, i)) {
            return false;
        }
    }
    return true;
}

/* None stands for a name that was not there. */
static bool has_value(PyObject *owner, PyObject *name, PyObject *value)
{
    if (PyModule_Check(owner)) {
        PyObject *there = PyDict_GetItemWithError(PyModule_GetDict(owner), name);
        return there == value || (there == NULL && value == Py_None);
    }
    HELD PyObject *there = PyObject_GetAttr(owner, name);
    return there == value;
}

/* Names and values in turn: what a class or a module is asked for. */
static bool has_values(PyObject *owner, PyObject *seen)
{
    Py_ssize_t count = PyTuple_Size(seen);
    for (Py_ssize_t i = 0; i + 1 < count; i += 2) {
        if (!has_value(owner, PyTuple_GetItem(seen, i), PyTuple_GetItem(seen, i + 1))) {
            return false;
        }
    }
    return true;
}

static bool has_numbers(PyObject *tensor, PyObject *seen)
{
    HELD PyObject *numbers = PyObject_CallMethod(tensor, "tolist", NULL);
    return numbers != NULL && PyObject_RichCompareBool(numbers, seen, Py_EQ) == 1;
}

static bool is_container(PyObject *container, PyObject *seen)
{
    if (PyList_Check(seen)) {
        return has_numbers(container, seen);
    }
    if (!PyTuple_Check(seen)) {
        return false;
    }
    if (PyDict_Check(container)) {
        return is_dictionary(container, seen);
    }
    return PyList_Check(container) ? is_list(container, seen) : has_values(container, seen);
}

static bool are_containers(PyObject *seen, Py_ssize_t from)
{
    Py_ssize_t count = PyTuple_Size(seen);
    bool are = true;
    for (Py_ssize_t i = from; are && i + 1 < count; i += 2) {
        are = is_container(PyTuple_GetItem(seen, i), PyTuple_GetItem(seen, i + 1));
    }
    PyErr_Clear();
    return are;
}

/* are_as_seen(seen): whether each container of such a record still has the same items. */
PyObject *core_are_as_seen(PyObject *module, PyObject *seen)
{
    if (!PyTuple_Check(seen)) {
        return PyErr_Format(PyExc_TypeError, "not what was seen");
    }
    return PyBool_FromLong(are_containers(seen, 0));
}

/* ---- objects ---- */

static bool is_object(PyObject *object, PyObject *kind, PyObject *state)
{
    if ((PyObject *)Py_TYPE(object) != kind) {
        return false;
    }
    HELD PyObject *own = PyObject_GenericGetDict(object, NULL);
    return own != NULL && own == state;
}

/* Checks an object: its class, and then its dictionary and other containers. */
static bool is_as_seen(PyObject *object, PyObject *seen)
{
    bool is = PyTuple_Check(seen) && PyTuple_Size(seen) > 2 &&
              is_object(object, PyTuple_GetItem(seen, 0), PyTuple_GetItem(seen, 1)) &&
              are_containers(seen, 1);
    PyErr_Clear();
    return is;
}

/* Returns the finding on an object if the object is unchanged; borrowed, or NULL. */
static PyObject *found_of(PyObject *object, PyObject *finds)
{
    HELD PyObject *address = PyLong_FromVoidPtr(object);
    PyObject *pair = address != NULL ? PyDict_GetItemWithError(finds, address) : NULL;
    bool is = pair != NULL && PyTuple_Check(pair) && PyTuple_Size(pair) == 2 &&
              is_as_seen(object, PyTuple_GetItem(pair, 0));
    PyErr_Clear();
    return is ? PyTuple_GetItem(pair, 1) : NULL;
}

/* found(objects, finds): the finding for each of these objects, or None. `finds` is {an object's
 * id: (its parts, the finding)}. The parts are the object's class, its dictionary, and then
 * containers with their items. */
PyObject *core_found(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    if (count != 2 || !PyDict_Check(arguments[1])) {
        return PyErr_Format(PyExc_TypeError, "objects, and what was found of some");
    }
    Py_ssize_t length = PySequence_Size(arguments[0]);
    PyObject *all = length < 0 ? NULL : PyList_New(0);
    for (Py_ssize_t i = 0; all != NULL && i < length; i++) {
        HELD PyObject *object = PySequence_GetItem(arguments[0], i);
        PyObject *find = object != NULL ? found_of(object, arguments[1]) : NULL;
        if (object == NULL || PyList_Append(all, find != NULL ? find : Py_None) != 0) {
            Py_CLEAR(all);
        }
    }
    return all;
}
