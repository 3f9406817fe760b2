/*
 * stoker._core: the decoder for Python. Bytes and plans come from Python objects, the pixels are
 * made without the GIL. Nothing is decided here: which images are decoded is stoker/hook.py's
 * matter.
 */
#include <limits.h>
#include <stdbool.h>

#include "wrappers/python/core/core.h"
#include "wrappers/python/core/feed/area.h"
#include "wrappers/python/core/feed/feed.h"
#include "wrappers/python/core/slots.h"
#include "wrappers/python/core/tables.h"

PyObject *probed(const struct stk_jpeg_info *info, int sound)
{
    return Py_BuildValue("IIIiiiiini", info->width, info->height, info->components,
                         (int)info->color, (int)info->precision, (int)info->progressive,
                         (int)info->arithmetic, (int)info->multiscan, (Py_ssize_t)info->end, sound);
}

/* probe(bytes): what the header says, see core.pyi; None for what is no JPEG. */
static PyObject *core_probe(PyObject *module, PyObject *bytes)
{
    (void)module;
    Py_buffer in;
    struct stk_jpeg_info info;
    if (PyObject_GetBuffer(bytes, &in, PyBUF_SIMPLE) != 0) {
        return NULL;
    }
    struct stk_decoder *decoder = thread_decoder();
    int status = decoder == NULL ? STK_DECODE_MEMORY
                                 : stk_decode_probe(decoder, in.buf, (size_t)in.len, &info);
    bool sound = status == STK_DECODE_OK && !info.progressive && !info.multiscan &&
                 tables_are_sound(in.buf, (size_t)in.len);
    PyBuffer_Release(&in);
    if (status == STK_DECODE_MEMORY) {
        return PyErr_NoMemory();
    }
    if (status != STK_DECODE_OK) {
        Py_RETURN_NONE;
    }
    return probed(&info, sound);
}

/* frame(bytes): (width, height, components) as the frame header says, or None: see probe(). */
static PyObject *core_frame(PyObject *module, PyObject *bytes)
{
    (void)module;
    Py_buffer in;
    struct stk_frame frame;
    if (PyObject_GetBuffer(bytes, &in, PyBUF_SIMPLE) != 0) {
        return NULL;
    }
    bool found = stk_decode_frame(in.buf, (size_t)in.len, &frame);
    PyBuffer_Release(&in);
    if (!found) {
        Py_RETURN_NONE;
    }
    return Py_BuildValue("III", frame.width, frame.height, frame.components);
}

/* decode(bytes, plan, out): the pixels in `out`, or as new bytes for None; an int where it failed.
 */
static PyObject *core_decode(PyObject *module, PyObject *arguments)
{
    (void)module;
    Py_buffer in;
    PyObject *plan, *out;
    struct request request;
    if (!PyArg_ParseTuple(arguments, "y*O!O", &in, &PyTuple_Type, &plan, &out)) {
        return NULL;
    }
    struct stk_decoder *decoder = thread_decoder();
    if (request_begin(&request, plan, out) != 0) {
        PyBuffer_Release(&in);
        return NULL;
    }
    int status = STK_DECODE_MEMORY;
    if (decoder != NULL) {
        Py_BEGIN_ALLOW_THREADS;
        status = stk_decode(decoder, in.buf, (size_t)in.len, &request.plan, &request.target);
        Py_END_ALLOW_THREADS;
    }
    PyBuffer_Release(&in);
    return request_end(&request, status);
}

static int take_image(struct stk_image *image, PyObject *shape, const Py_buffer *in)
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
static PyObject *core_transform(PyObject *module, PyObject *arguments)
{
    (void)module;
    Py_buffer in;
    PyObject *plan, *out, *shape;
    struct stk_image image;
    struct request request;
    if (!PyArg_ParseTuple(arguments, "y*O!O!O", &in, &PyTuple_Type, &shape, &PyTuple_Type, &plan,
                          &out)) {
        return NULL;
    }
    struct stk_decoder *decoder = thread_decoder();
    if (take_image(&image, shape, &in) != 0 || request_begin(&request, plan, out) != 0) {
        PyBuffer_Release(&in);
        return NULL;
    }
    int status = STK_DECODE_MEMORY;
    if (decoder != NULL) {
        Py_BEGIN_ALLOW_THREADS;
        status = stk_transform(decoder, &image, &request.plan, &request.target);
        Py_END_ALLOW_THREADS;
    }
    PyBuffer_Release(&in);
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
static PyObject *core_table(PyObject *module, PyObject *arguments)
{
    (void)module;
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

/*
 * publish(dictionary, key, expected, value): puts the value in, if what is there is still the
 * expected object. Nothing of Python's runs between the look and the change, so that of two threads
 * one wins. Whether it was put in.
 */
static PyObject *core_publish(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *dictionary, *key, *expected, *value;
    if (!PyArg_ParseTuple(arguments, "O!UOO", &PyDict_Type, &dictionary, &key, &expected, &value)) {
        return NULL;
    }
    PyObject *there = PyDict_GetItemWithError(dictionary, key);
    if (there != expected) {
        return PyErr_Occurred() != NULL ? NULL : PyBool_FromLong(0);
    }
    return PyDict_SetItem(dictionary, key, value) == 0 ? PyBool_FromLong(1) : NULL;
}

/* memory_at(address, bytes): see core.pyi. */
static PyObject *core_memory_at(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "an address, and how many bytes");
        return NULL;
    }
    char *address = PyLong_AsVoidPtr(arguments[0]);
    Py_ssize_t bytes = PyLong_AsSsize_t(arguments[1]);
    return PyErr_Occurred() != NULL ? NULL : PyMemoryView_FromMemory(address, bytes, PyBUF_WRITE);
}

/* simd(): the name of the code that resizes. */
static PyObject *core_simd(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyUnicode_FromString(stk_decode_simd());
}

/* A function that takes its arguments as they lie. */
#define FAST(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef methods[] = {
    {"probe", core_probe, METH_O, NULL},
    {"frame", core_frame, METH_O, NULL},
    {"decode", core_decode, METH_VARARGS, NULL},
    {"transform", core_transform, METH_VARARGS, NULL},
    {"attach", core_attach, METH_VARARGS, NULL},
    {"find", core_find, METH_O, NULL},
    {"identify", core_identify, METH_O, NULL},
    {"file_bytes", core_file_bytes, METH_O, NULL},
    {"wants_link", core_wants_link, METH_O, NULL},
    {"holds", FAST(core_holds), METH_FASTCALL, NULL},
    {"find_path", core_find_path, METH_O, NULL},
    {"identify_path", core_identify_path, METH_O, NULL},
    {"tell_served", core_tell_served, METH_O, NULL},
    {"tell_decoded", FAST(core_tell_decoded), METH_FASTCALL, NULL},
    {"decode_kept", core_decode_kept, METH_VARARGS, NULL},
    {"decode_form", core_decode_form, METH_VARARGS, NULL},
    {"check_kept", core_check_kept, METH_O, NULL},
    {"open_own", core_open_own, METH_VARARGS, NULL},
    {"memory", core_memory, METH_VARARGS, NULL},
    {"resize", core_resize, METH_VARARGS, NULL},
    {"table", core_table, METH_VARARGS, NULL},
    {"publish", core_publish, METH_VARARGS, NULL},
    {"memory_at", FAST(core_memory_at), METH_FASTCALL, NULL},
    {"simd", core_simd, METH_NOARGS, NULL},
    {"are_as_seen", core_are_as_seen, METH_O, NULL},
    {"found", FAST(core_found), METH_FASTCALL, NULL},
    {"join", core_join, METH_O, NULL},
    {"count", FAST(core_count), METH_FASTCALL, NULL},
    {"counts", core_counts, METH_NOARGS, NULL},
    {"begin_pass", core_begin_pass, METH_VARARGS, NULL},
    {"add_pass", core_add_pass, METH_VARARGS, NULL},
    {"ring_begin", core_ring_begin, METH_O, NULL},
    {"ring_take", core_ring_take, METH_O, NULL},
    {"ring_lend", core_ring_lend, METH_O, NULL},
    {"ring_introduced", core_ring_introduced, METH_O, NULL},
    {"ring_take_back", core_ring_take_back, METH_O, NULL},
    {"ring_keep", core_ring_keep, METH_NOARGS, NULL},
    {"ring_go_on", core_ring_go_on, METH_NOARGS, NULL},
    {"ring_leave", core_ring_leave, METH_NOARGS, NULL},
    {"ring_end", core_ring_end, METH_NOARGS, NULL},
    {"ring_hold", core_ring_hold, METH_O, NULL},
    {"borrow", core_borrow, METH_O, NULL},
    {"borrowed_at", core_borrowed_at, METH_O, NULL},
    {"borrowed_hold", core_borrowed_hold, METH_O, NULL},
    {"feed_crew", core_feed_crew, METH_VARARGS, NULL},
    {"feed_stock", core_feed_stock, METH_VARARGS, NULL},
    {"feed_area_at", core_feed_area_at, METH_O, NULL},
    {"feed_words", core_feed_words, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* Py_mod_exec is a pointer to an object, by its type. */
static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)(uintptr_t)slots_add_types}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_core", NULL, 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__core(void);

/* In several phases: each subinterpreter that allows it gets a module of its own. */
PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
