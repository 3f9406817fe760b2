/* Planes of a tensor's pixels, into a batch. */

#include "decode/operations/operations.h"
#include "wrappers/python/core/common/functions.h"
#include "wrappers/python/core/common/objects.h"

/* split(out, pixels, number_bytes): writes the three planes of pixels that lie one behind the
 * other, with three numbers of one or four bytes each, to `out`, a buffer of as many bytes. */
PyObject *core_split(PyObject *module, PyObject *arguments)
{
    HELD_BUFFER Py_buffer out = {0}, in = {0};
    unsigned number_bytes;
    if (!PyArg_ParseTuple(arguments, "w*y*I", &out, &in, &number_bytes)) {
        return NULL;
    }
    size_t pixel_bytes = 3 * (size_t)number_bytes;
    bool fits = (number_bytes == 1 || number_bytes == 4) && out.len == in.len &&
                (size_t)in.len % pixel_bytes == 0;
    if (!fits) {
        return PyErr_Format(PyExc_ValueError, "the buffers are not pixels and their planes");
    }
    WITHOUT_GIL(stk_split(out.buf, in.buf, (size_t)in.len / pixel_bytes, number_bytes));
    Py_RETURN_NONE;
}
