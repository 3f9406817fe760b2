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

/* png(core, bands, size, data): fills a core image of a size with the data of a PNG's IDAT chunks.
 * Returns false if Pillow has to do it. */
PyObject *core_png(PyObject *module, PyObject *arguments)
{
    PyObject *core;
    struct image_memory memory;
    HELD_BUFFER Py_buffer data = {0};
    if (!PyArg_ParseTuple(arguments, "OO&(O&O&)y*", &core, take_u32, &memory.bands, take_u32,
                          &memory.width, take_u32, &memory.height, &data)) {
        return NULL;
    }
    int status = STK_DECODE_ARGUMENT;
    if (find_rows(&memory, core)) {
        struct stk_png_rows rows = rows_of(&memory);
        WITHOUT_GIL(status = stk_png_decode(data.buf, (size_t)data.len, &rows));
    }
    return PyBool_FromLong(status == STK_DECODE_OK);
}
