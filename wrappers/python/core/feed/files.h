/*
 * The files of a batch as Python has them. files.c reads and decodes them by a pool; in between,
 * draw.c makes their plans.
 */
#pragma once

#include "wrappers/python/core/feed/feed.h"
#include "wrappers/python/core/feed/item.h"
#include "wrappers/python/core/feed/py_thread_pool.h"

struct files {
    PyObject_HEAD;
    struct py_thread_pool *py_pool;
    struct pool_group group;
    struct item *items;
    Py_ssize_t count, room;
    PyObject *paths; /* the object that holds the items' paths */
    PyObject *plans; /* the object that holds the tables of the items' plans */
    struct space space;
    Py_buffer read_to; /* the buffer of the space; zeros: there is none */
    Py_buffer out;     /* the buffer of the pixels, likewise */
};

/* Returns the pool of files that have no work under way, or NULL with an exception set. */
struct thread_pool *files_idle_pool(struct files *files);
/* Returns the item of a number, if no work on the files is under way; or NULL with an exception
 * set. */
struct item *files_item(struct files *files, PyObject *number);
/* Returns a number that all files of one kind have in common. They are equal in all that
 * _pillow/take.py checks by is_taken(). */
unsigned long long files_kind(const struct item *item);

/* Methods of Files: see draw.c. */
PyObject *files_draw(PyObject *self, PyObject *arguments);
PyObject *files_drawn_size(PyObject *self, PyObject *unused);
PyObject *files_drawn(PyObject *self, PyObject *number);
