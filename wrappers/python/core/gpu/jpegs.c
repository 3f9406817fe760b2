/* JPEGs decoded by a device (gpu/jpegs.h), for Python. */
#include "wrappers/python/core/gpu/gpu_module.h"

#include <stdlib.h>

#include "gpu/jpegs.h"

#define JPEGS          "stoker._gpu_core.jpegs"
#define MOST_LIBRARIES 16

/* The device outlives it. */
struct decoder {
    struct stk_gpu_jpegs *jpegs;
    PyObject *capsule; /* the device's */
    struct device *device;
};

static struct decoder *decoder_of(PyObject *capsule)
{
    return PyCapsule_GetPointer(capsule, JPEGS);
}

static int end(struct stk_gpu_jpegs *jpegs)
{
    stk_gpu_jpegs_close(jpegs);
    return 0;
}

static void close_decoder(PyObject *capsule)
{
    struct decoder *decoder = decoder_of(capsule);
    int unused;
    CALL_DEVICE(decoder->device, unused, end(decoder->jpegs));
    (void)unused;
    Py_DECREF(decoder->capsule);
    PyMem_Free(decoder);
}

/* How many there are, with NULL behind the last; -1, with an exception set. */
static int take_libraries(PyObject *tuple, const char **libraries)
{
    Py_ssize_t count = PyTuple_Size(tuple);
    if (count > MOST_LIBRARIES) {
        PyErr_SetString(PyExc_ValueError, "too many libraries");
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        libraries[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(tuple, i), NULL);
        if (libraries[i] == NULL) {
            return -1;
        }
    }
    libraries[count] = NULL;
    return 0;
}

/* Takes it over; NULL with an exception set: it did not. */
static PyObject *capsule_of(struct stk_gpu_jpegs *jpegs, PyObject *device)
{
    struct decoder *decoder = PyMem_Calloc(1, sizeof *decoder);
    if (decoder == NULL) {
        return PyErr_NoMemory();
    }
    *decoder = (struct decoder){jpegs, device, gpu_device_of(device)};
    PyObject *capsule = PyCapsule_New(decoder, JPEGS, close_decoder);
    if (capsule == NULL) {
        PyMem_Free(decoder);
        return NULL;
    }
    Py_INCREF(device);
    return capsule;
}

/* jpegs(device, libraries): a decoder, by the first of these libraries (names or paths) that can be
 * used; NoDevice, with the reason. */
PyObject *gpu_jpegs(PyObject *module, PyObject *arguments)
{
    PyObject *capsule, *tuple;
    const char *libraries[MOST_LIBRARIES + 1];
    if (!PyArg_ParseTuple(arguments, "OO!", &capsule, &PyTuple_Type, &tuple) ||
        take_libraries(tuple, libraries) != 0) {
        return NULL;
    }
    struct device *device = gpu_device_of(capsule);
    struct stk_gpu_jpegs *jpegs;
    struct stk_gpu_why why = {0};
    int error;
    if (device == NULL) {
        return NULL;
    }
    CALL_DEVICE(device, error, stk_gpu_jpegs_open(&jpegs, device->gpu, libraries, &why));
    if (error < 0) {
        return gpu_raise(&why);
    }
    PyObject *made = capsule_of(jpegs, capsule);
    if (made == NULL) {
        CALL_DEVICE(device, error, end(jpegs));
    }
    return made;
}

/* jpegs_name(jpegs). */
PyObject *gpu_jpegs_name(PyObject *module, PyObject *capsule)
{
    const struct decoder *decoder = decoder_of(capsule);
    return decoder == NULL ? NULL : PyUnicode_FromString(stk_gpu_jpegs_name(decoder->jpegs));
}

/* ---- batches ---- */

static int take_image(struct stk_gpu_jpeg *image, PyObject *tuple)
{
    unsigned long long bytes, size, out;
    if (!PyArg_ParseTuple(tuple, "KKIIK;not an image", &bytes, &size, &image->width, &image->height,
                          &out)) {
        return -1;
    }
    image->bytes = (const unsigned char *)(uintptr_t)bytes;
    image->size = (size_t)size;
    image->out = out;
    return 0;
}

static struct stk_gpu_jpeg *take_images(PyObject *list, Py_ssize_t count)
{
    struct stk_gpu_jpeg *images = calloc((size_t)count + 1, sizeof *images);
    if (images == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (take_image(&images[i], PyList_GetItem(list, i)) != 0) {
            free(images);
            return NULL;
        }
    }
    return images;
}

static PyObject *list_begun(const struct stk_gpu_jpeg *images, Py_ssize_t count)
{
    PyObject *begun = PyList_New(count);
    for (Py_ssize_t i = 0; begun != NULL && i < count; i++) {
        PyList_SetItem(begun, i, PyBool_FromLong(images[i].is_begun));
    }
    return begun;
}

/* jpegs_decode(jpegs, [(address, size, width, height, out)...], stream): which were begun. Their
 * bytes stay as they are until what is begun on the stream has ended, also where there is an
 * exception. */
PyObject *gpu_jpegs_decode(PyObject *module, PyObject *arguments)
{
    PyObject *capsule, *list;
    void *stream;
    if (!PyArg_ParseTuple(arguments, "OO!O&", &capsule, &PyList_Type, &list, gpu_take_stream,
                          &stream)) {
        return NULL;
    }
    struct decoder *decoder = decoder_of(capsule);
    Py_ssize_t count = PyList_Size(list);
    struct stk_gpu_jpeg *images = decoder == NULL ? NULL : take_images(list, count);
    if (images == NULL) {
        return NULL;
    }
    struct stk_gpu_why why = {0};
    int error;
    CALL_DEVICE(decoder->device, error,
                stk_gpu_jpegs_decode(decoder->jpegs, images, (size_t)count, stream, &why));
    PyObject *begun = error < 0 ? gpu_raise(&why) : list_begun(images, count);
    free(images);
    return begun;
}
