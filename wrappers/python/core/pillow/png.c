/* Makes the pixels of PNGs: in the images that Pillow keeps in memory, and packed, for libraries
 * that have no rows of four bytes a pixel. */
#include "decode/png/png.h"

#include <stdbool.h>
#include <stdlib.h>

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

/* ---- packed ---- */

struct packed_png {
    struct stk_png_rows rows; /* of the decoder, which makes pixels of one or of four bytes */
    uint32_t channels, layout;
    Py_buffer out;
};

/* Writes pixels of three bytes from pixels of one or of four. */
static void pack(uint8_t *out, const uint8_t *in, size_t pixels, size_t step, bool is_blue_first)
{
    size_t green = step == 4, blue = 2 * green;
    size_t first = is_blue_first ? blue : 0, last = is_blue_first ? 0 : blue;
    for (size_t p = 0; p < pixels; p++) {
        out[3 * p] = in[step * p + first];
        out[3 * p + 1] = in[step * p + green];
        out[3 * p + 2] = in[step * p + last];
    }
}

static int decode_rows(struct stk_png_rows *rows, const Py_buffer *data, uint8_t *pixels,
                       size_t step)
{
    uint8_t **row = malloc(rows->height * sizeof *row);
    if (row == NULL) {
        return STK_DECODE_MEMORY;
    }
    for (size_t y = 0; y < rows->height; y++) {
        row[y] = pixels + y * rows->width * step;
    }
    rows->rows = row;
    int status = stk_png_decode(data->buf, (size_t)data->len, rows);
    free(row);
    return status;
}

static int make(struct packed_png *packed, const Py_buffer *data)
{
    struct stk_png_rows *rows = &packed->rows;
    size_t pixels = (size_t)rows->width * rows->height, step = rows->pixel_bytes == 1 ? 1 : 4;
    if (packed->channels == step) {
        return decode_rows(rows, data, packed->out.buf, step);
    }
    uint8_t *aside = malloc(pixels * step);
    int status = aside == NULL ? STK_DECODE_MEMORY : decode_rows(rows, data, aside, step);
    if (status == STK_DECODE_OK) {
        pack(packed->out.buf, aside, pixels, step, packed->layout == STK_LAYOUT_BGR);
    }
    free(aside);
    return status;
}

/* Returns true if the file's pixels can become the wanted ones, and the buffer has their size. */
static bool is_possible(const struct packed_png *packed)
{
    const struct stk_png_rows *rows = &packed->rows;
    uint32_t bands = rows->pixel_bytes, channels = packed->channels;
    uint64_t pixels = (uint64_t)rows->width * rows->height;
    return (channels == 3 || channels == bands) && (bands == 1 || bands == 3 || bands == 4) &&
           pixels > 0 && (uint64_t)packed->out.len / channels == pixels &&
           (uint64_t)packed->out.len % channels == 0;
}

/* png_pixels(data, size, bands, (channels, layout), out): fills `out` with the data of a PNG's IDAT
 * chunks. Three channels of pixels with alpha are their colours. Returns false if the library has
 * to decode the file. */
PyObject *core_png_pixels(PyObject *module, PyObject *arguments)
{
    HELD_BUFFER Py_buffer data = {0};
    struct packed_png packed;
    if (!PyArg_ParseTuple(arguments, "y*(O&O&)O&(O&O&)w*", &data, take_u32, &packed.rows.width,
                          take_u32, &packed.rows.height, take_u32, &packed.rows.pixel_bytes,
                          take_u32, &packed.channels, take_u32, &packed.layout, &packed.out)) {
        return NULL;
    }
    int status = STK_DECODE_ARGUMENT;
    if (is_possible(&packed)) {
        WITHOUT_GIL(status = make(&packed, &data));
    }
    PyBuffer_Release(&packed.out);
    return PyBool_FromLong(status == STK_DECODE_OK);
}
