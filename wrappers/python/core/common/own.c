/* Directories whose path belongs to this user and root (base/trusted_path.h). */
#include <errno.h>

#include "base/trusted_path.h"
#include "wrappers/python/core/common/functions.h"

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
