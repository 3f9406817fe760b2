/*
 * The files of a batch as Python has them: files.c reads and decodes them by a crew, draw.c makes
 * their plans between these. See feed.h.
 */
#ifndef STK_PYTHON_FEED_FILES_H
#define STK_PYTHON_FEED_FILES_H

#include "wrappers/python/core/feed/feed.h"
#include "wrappers/python/core/feed/item.h"
#include "wrappers/python/core/feed/team.h"

struct files {
    PyObject_HEAD;
    struct team *team;
    struct crew_group group;
    struct item *items;
    Py_ssize_t count, room;
    PyObject *paths; /* what the items' paths are of */
    PyObject *plans; /* what the tables of the items' plans are of */
    struct space space;
    Py_buffer read_to; /* what the space is of, if has_space */
    Py_buffer out;     /* where the pixels go, if has_out */
    bool has_space, has_out;
};

/* Files that are none yet, or NULL with an exception set. */
PyObject *files_new(struct team *team);
/* The crew of files of which nothing is underway, or NULL with an exception set. */
struct crew *files_idle_crew(struct files *files);
/* The item that a number is of, if nothing of the files is underway; or NULL with an exception set.
 */
struct item *files_item(struct files *files, PyObject *number);
/* A number that is the same for all files of one kind: see core.pyi. */
unsigned long long files_kind(const struct item *item);

/* Methods of Files: see core.pyi. */
PyObject *files_draw(PyObject *self, PyObject *arguments);
PyObject *files_drawn_size(PyObject *self, PyObject *unused);
PyObject *files_drawn(PyObject *self, PyObject *number);

#endif
