/* Fills the images that Pillow keeps in memory with the pixels of PNGs. */
#include "decode/png/png.h"

#include "wrappers/python/core/common/functions.h"
#include "wrappers/python/core/common/objects.h"
#include "wrappers/python/core/pillow/image_memory.h"

static struct stk_png_rows rows_of(const struct image_memory *memory)
{
    return (struct stk_png_rows){(uint8_t *const *)(uintptr_t)memory->rows, memory->width,
                                 memory->height, memory->bands};
}

/* png(core, bands, size, data, length): fills a core image of a size with a PNG's image data.
 * `data` is the file from its first IDAT chunk's bytes to the header behind the last one; that
 * chunk has `length` of them. Returns the offset behind the last IDAT chunk's bytes, or None if
 * Pillow has to do it. */
PyObject *core_png(PyObject *module, PyObject *arguments)
{
    PyObject *core;
    struct image_memory memory;
    Py_buffer data;
    Py_ssize_t length;
    size_t end = 0;
    if (!PyArg_ParseTuple(arguments, "OO&(O&O&)y*n", &core, take_u32, &memory.bands, take_u32,
                          &memory.width, take_u32, &memory.height, &data, &length)) {
        return NULL;
    }
    int status = STK_DECODE_ARGUMENT;
    if (length >= 0 && find_rows(&memory, core)) {
        struct stk_png_rows rows = rows_of(&memory);
        Py_BEGIN_ALLOW_THREADS;
        status = stk_png_decode(data.buf, (size_t)data.len, (size_t)length, &rows, &end);
        Py_END_ALLOW_THREADS;
    }
    PyBuffer_Release(&data);
    if (status) {
        Py_RETURN_NONE;
    }
    return PyLong_FromSize_t(end);
}
