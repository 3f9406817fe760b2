/*
 * Names of files in a list of the program's, as messages to the command need them.
 *
 * A reference to an object is counted in the object itself. After a fork the first count on a page
 * copies the page, and each pass over a DataLoader forks its workers. So nothing here takes a
 * reference to a row or to a name.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "wrappers/python/core/common/functions.h"

/* Bytes that the processor loads at a time. The first ones of a str are its head. */
#define LINE 64

/* Bytes that grow. */
struct names_text {
    char *bytes;
    size_t used, room;
};

/* Names in rows of a list. */
struct list_names {
    PyObject *rows;   /* a list or a tuple */
    Py_ssize_t key;   /* of the name in a row, or -1: the row is the name */
    const char *root; /* comes before each name */
    Py_ssize_t root_bytes;
    const void *indices; /* of rows */
    bool are_long;       /* each index has 64 bits, and not 32 */
    size_t count;
};

/* Returns false with an exception set if there is no memory. */
static bool add(struct names_text *text, const char *bytes, Py_ssize_t count)
{
    size_t least = text->used + (size_t)count;
    if (least > text->room) {
        size_t room = 2 * least;
        char *more = realloc(text->bytes, room);
        if (more == NULL) {
            PyErr_NoMemory();
            return false;
        }
        text->bytes = more;
        text->room = room;
    }
    memcpy(text->bytes + text->used, bytes, (size_t)count);
    text->used = least;
    return true;
}

/* Returns an item of a list or a tuple, or NULL without an exception if there is none. */
static PyObject *item_at(PyObject *items, Py_ssize_t index)
{
    if (PyList_CheckExact(items)) {
        return index >= 0 && index < PyList_Size(items) ? PyList_GetItem(items, index) : NULL;
    }
    if (PyTuple_CheckExact(items)) {
        return index >= 0 && index < PyTuple_Size(items) ? PyTuple_GetItem(items, index) : NULL;
    }
    return NULL;
}

static PyObject *row_of(const struct list_names *names, size_t i)
{
    long long index =
        names->are_long ? ((const long long *)names->indices)[i] : ((const int *)names->indices)[i];
    return item_at(names->rows, (Py_ssize_t)index);
}

/* Returns the name in a row, or NULL if it is no str. */
static PyObject *name_in(const struct list_names *names, PyObject *row)
{
    PyObject *name = row != NULL && names->key >= 0 ? item_at(row, names->key) : row;
    return name != NULL && PyUnicode_CheckExact(name) ? name : NULL;
}

/* Has the processor load the rows, and then the names. They lie all over the memory: one after the
 * other, each takes as long as all else here. */
static void prefetch(const struct list_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        __builtin_prefetch(row_of(names, i));
    }
    for (size_t i = 0; i < names->count && names->key >= 0; i++) {
        PyObject *row = row_of(names, i);
        __builtin_prefetch(row != NULL ? item_at(row, names->key) : NULL);
    }
    for (size_t i = 0; i < names->count; i++) {
        PyObject *name = name_in(names, row_of(names, i));
        __builtin_prefetch((const char *)name + LINE);
    }
}

/* Returns 1, 0 if there is no absolute path, or -1 with an exception set. */
static int add_name(struct names_text *text, const struct list_names *names, PyObject *name)
{
    HELD PyObject *encoded = name != NULL ? PyUnicode_EncodeFSDefault(name) : NULL;
    if (encoded == NULL) {
        return name != NULL ? -1 : 0;
    }
    const char *bytes = PyBytes_AsString(encoded);
    if (names->root_bytes == 0 && bytes[0] != '/') {
        return 0;
    }
    bool added =
        add(text, names->root, names->root_bytes) && add(text, bytes, PyBytes_Size(encoded) + 1);
    return added ? 1 : -1;
}

static PyObject *names_at(const struct list_names *names)
{
    struct names_text text = {0};
    int found = 1;
    prefetch(names);
    for (size_t i = 0; i < names->count && found > 0; i++) {
        found = add_name(&text, names, name_in(names, row_of(names, i)));
    }
    PyObject *result = found > 0   ? PyBytes_FromStringAndSize(text.bytes, (Py_ssize_t)text.used)
                       : found < 0 ? NULL
                                   : Py_NewRef(Py_None);
    free(text.bytes);
    return result;
}

/*
 * names_at(rows, key, root, indices): the paths in these rows of a list or tuple, as bytes with a
 * zero behind each path. `key`: of the path in a row that is a list or a tuple; -1 if each row is a
 * path. `root`: bytes that come before each path. `indices`: an array of "i" or "q". Returns None
 * if there is no such row, if a row or path is of another type, or if a path is relative. Python's
 * file system encoding must be UTF-8: the codec of another one may run code that changes the list.
 */
PyObject *core_names_at(PyObject *module, PyObject *arguments)
{
    struct list_names names;
    HELD_BUFFER Py_buffer indices = {0};
    if (!PyArg_ParseTuple(arguments, "Ony#y*", &names.rows, &names.key, &names.root,
                          &names.root_bytes, &indices)) {
        return NULL;
    }
    names.indices = indices.buf;
    names.are_long = indices.itemsize == sizeof(long long);
    names.count = (size_t)(indices.len / indices.itemsize);
    return names_at(&names);
}
