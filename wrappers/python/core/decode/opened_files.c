/* Which covered files this thread opens, for Python. */
#include "wrappers/python/core/common/functions.h"
#include "wrappers/python/core/decode/file_identity.h"

#define PATHS_BYTES 4096 /* of one sample; a file whose path has no room is left out */

static __thread char paths[PATHS_BYTES];
static __thread struct stk_opened opened = {.room = PATHS_BYTES};

/* note_opens(on): notes the covered files that this thread opens, or no longer. Returns true if
 * there is a preload that notes them. */
PyObject *core_note_opens(PyObject *module, PyObject *on)
{
    opened.paths = paths; /* a thread-local address is no constant */
    opened.used = 0;
    return PyBool_FromLong(identity_note_opens(PyObject_IsTrue(on) ? &opened : NULL));
}

/* opened(): the paths of the files that this thread has opened since the last call, each with its
 * zero. */
PyObject *core_opened(PyObject *module, PyObject *unused)
{
    PyObject *found = PyBytes_FromStringAndSize(paths, (Py_ssize_t)opened.used);
    opened.used = 0;
    return found;
}
