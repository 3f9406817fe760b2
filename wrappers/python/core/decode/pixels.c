/* Bytes and plans come from Python objects, the pixels are made without the GIL. */
#include "wrappers/python/core/decode/pixels.h"

#include <limits.h>
#include <stdbool.h>

#include "decode/operations/operations.h"
#include "wrappers/python/core/common/functions.h"
#include "wrappers/python/core/common/objects.h"
#include "wrappers/python/core/decode/plan_request.h"
#include "wrappers/python/core/decode/tables.h"
#include "wrappers/python/core/decode/thread_decoder.h"

PyObject *examined(const struct stk_jpeg_info *info, int sound)
{
    return Py_BuildValue("IIIiiiiini", info->width, info->height, info->components,
                         (int)info->color, (int)info->precision, (int)info->progressive,
                         (int)info->arithmetic, (int)info->multiscan, (Py_ssize_t)info->end, sound);
}

/* examine(bytes): what the header says (pixels.h); None for what is no JPEG. */
PyObject *core_examine(PyObject *module, PyObject *bytes)
{
    HELD_BUFFER Py_buffer in = {0};
    struct stk_jpeg_info info;
    if (PyObject_GetBuffer(bytes, &in, PyBUF_SIMPLE) != 0) {
        return NULL;
    }
    struct stk_decoder *decoder = thread_decoder();
    int status = decoder == NULL ? STK_DECODE_MEMORY
                                 : stk_decode_examine(decoder, in.buf, (size_t)in.len, &info);
    bool sound = status == STK_DECODE_OK && !info.progressive && !info.multiscan &&
                 tables_are_sound(in.buf, (size_t)in.len);
    if (status == STK_DECODE_MEMORY) {
        return PyErr_NoMemory();
    }
    return status != STK_DECODE_OK ? Py_NewRef(Py_None) : examined(&info, sound);
}

/* frame(bytes): (width, height, components) as the frame header says; None: ask examine(). */
PyObject *core_frame(PyObject *module, PyObject *bytes)
{
    HELD_BUFFER Py_buffer in = {0};
    struct stk_frame frame;
    if (PyObject_GetBuffer(bytes, &in, PyBUF_SIMPLE) != 0) {
        return NULL;
    }
    bool found = stk_decode_frame(in.buf, (size_t)in.len, &frame);
    return found ? Py_BuildValue("III", frame.width, frame.height, frame.components)
                 : Py_NewRef(Py_None);
}

/* sampling(head): ((h, v) of each component) as the frame header says; None: it is not found. */
PyObject *core_sampling(PyObject *module, PyObject *head)
{
    HELD_BUFFER Py_buffer in = {0};
    struct stk_frame frame;
    if (PyObject_GetBuffer(head, &in, PyBUF_SIMPLE) != 0) {
        return NULL;
    }
    if (!stk_decode_frame(in.buf, (size_t)in.len, &frame) || frame.factors == NULL) {
        return Py_NewRef(Py_None);
    }
    PyObject *factors = PyTuple_New((Py_ssize_t)frame.components);
    for (uint32_t i = 0; factors != NULL && i < frame.components; i++) {
        int factor = frame.factors[3 * i];
        PyObject *pair = Py_BuildValue("ii", factor >> 4, factor & 15);
        if (pair == NULL || PyTuple_SetItem(factors, (Py_ssize_t)i, pair) != 0) {
            Py_CLEAR(factors);
        }
    }
    return factors;
}

/* decode(bytes, plan, out): the pixels in `out`, or as new bytes for None; a negative number
 * (STK_DECODE_...) where it failed. plan_request.h describes the plan. */
PyObject *core_decode(PyObject *module, PyObject *arguments)
{
    HELD_BUFFER Py_buffer in = {0};
    PyObject *plan, *out;
    struct plan_request request;
    if (!PyArg_ParseTuple(arguments, "y*O!O", &in, &PyTuple_Type, &plan, &out) ||
        request_begin(&request, plan, out) != 0) {
        return NULL;
    }
    int status;
    BY_DECODER(status, stk_decode(decoder, in.buf, (size_t)in.len, &request.plan, &request.target));
    return request_end(&request, status);
}

int take_image(struct stk_image *image, PyObject *shape, const Py_buffer *in)
{
    *image = (struct stk_image){0};
    if (!PyArg_ParseTuple(shape, "O&O&O&;not (width, height, channels)", take_u32, &image->width,
                          take_u32, &image->height, take_u32, &image->channels)) {
        return -1;
    }
    image->data = in->buf;
    image->row_bytes = (size_t)image->width * image->channels;
    if (image->channels > 4 || image->width > INT_MAX || image->height > INT_MAX ||
        image->row_bytes * image->height != (size_t)in->len) {
        PyErr_SetString(PyExc_ValueError, "the pixels are not of this shape");
        return -1;
    }
    return 0;
}

/* transform(pixels, (width, height, channels), plan, out): as decode(), from pixels. */
PyObject *core_transform(PyObject *module, PyObject *arguments)
{
    HELD_BUFFER Py_buffer in = {0};
    PyObject *plan, *out, *shape;
    struct stk_image image;
    struct plan_request request;
    if (!PyArg_ParseTuple(arguments, "y*O!O!O", &in, &PyTuple_Type, &shape, &PyTuple_Type, &plan,
                          &out) ||
        take_image(&image, shape, &in) != 0 || request_begin(&request, plan, out) != 0) {
        return NULL;
    }
    int status;
    BY_DECODER(status, stk_transform(decoder, &image, &request.plan, &request.target));
    return request_end(&request, status);
}

static int take_float(PyObject *object, float *value, const float **out)
{
    if (object == Py_None) {
        *out = NULL;
        return 0;
    }
    double number = PyFloat_AsDouble(object);
    *value = (float)number;
    *out = value;
    return PyErr_Occurred() != NULL ? -1 : 0;
}

/* table(mean, std): one channel's 256 normalised values, as the bytes of floats. */
PyObject *core_table(PyObject *module, PyObject *arguments)
{
    PyObject *mean, *std;
    float values[2], table[256];
    const float *given[2];
    if (!PyArg_ParseTuple(arguments, "OO", &mean, &std) ||
        take_float(mean, &values[0], &given[0]) != 0 ||
        take_float(std, &values[1], &given[1]) != 0) {
        return NULL;
    }
    stk_decode_table(table, given[0], given[1]);
    return PyBytes_FromStringAndSize((const char *)table, sizeof table);
}

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

/* simd(): the name of the code that resizes. */
PyObject *core_simd(PyObject *module, PyObject *unused)
{
    return PyUnicode_FromString(stk_decode_simd());
}
