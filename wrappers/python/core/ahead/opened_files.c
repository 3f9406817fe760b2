/* Which covered files this thread opens, for Python. */
#include <stdlib.h>

#include "wrappers/python/core/common/functions.h"
#include "wrappers/python/core/decode/file_identity.h"

#define LEAST_BYTES  4096 /* of paths; a file whose path has no room is left out */
#define SAMPLE_BYTES 512
#define MOST_SAMPLES 4096

static __thread struct stk_opened opened;

static void make_room(long samples)
{
    size_t bytes = SAMPLE_BYTES * (size_t)(samples < MOST_SAMPLES ? samples : MOST_SAMPLES);
    size_t room = bytes > LEAST_BYTES ? bytes : LEAST_BYTES;
    free(opened.paths);
    opened = (struct stk_opened){.paths = samples > 0 ? malloc(room) : NULL};
    opened.room = opened.paths != NULL ? room : 0;
}

/* note_opens(samples): notes the covered files that this thread opens from now on, or no longer if
 * `samples` is 0. Between two calls of opened() it makes so many samples. Returns true if there is
 * a preload that notes them. */
PyObject *core_note_opens(PyObject *module, PyObject *samples)
{
    long count = PyLong_AsLong(samples);
    if (count == -1 && PyErr_Occurred()) {
        return NULL;
    }
    identity_note_opens(NULL);
    make_room(count);
    return PyBool_FromLong(opened.paths != NULL && identity_note_opens(&opened));
}

/* opened(): the paths of the files that this thread has opened since the last call, each with its
 * zero. */
PyObject *core_opened(PyObject *module, PyObject *unused)
{
    PyObject *found = PyBytes_FromStringAndSize(opened.paths, (Py_ssize_t)opened.used);
    opened.used = 0;
    return found;
}
