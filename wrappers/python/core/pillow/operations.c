/* Pillow's operations on the images that it keeps in memory (decode/operations). Each function
 * writes a core image that Pillow has made. It returns 0, or a negative number if Pillow has to do
 * it. */
#include "decode/operations/operations.h"

#include <errno.h>
#include <string.h>

#include "wrappers/python/core/common/functions.h"
#include "wrappers/python/core/pillow/image_memory.h"

#define UNKNOWN (-EINVAL)

/* Finds the rows of a core image of a size. Returns false if the image is not as the caller knows
 * it. */
static bool find(struct stk_picture *out, PyObject *core, uint32_t bands, const uint32_t size[2])
{
    struct image_memory memory = {.bands = bands, .width = size[0], .height = size[1]};
    if (!find_rows(&memory, core)) {
        return false;
    }
    *out = (struct stk_picture){(uint8_t *const *)(uintptr_t)memory.rows, size[0], size[1],
                                bands == 1 ? 1 : 4};
    return true;
}

/* blend(target, a, b, bands, size, share): goes from a to b. */
PyObject *core_blend(PyObject *module, PyObject *arguments)
{
    PyObject *target, *first, *second;
    uint32_t bands, size[2];
    double share;
    struct stk_picture out, a, b;
    if (!PyArg_ParseTuple(arguments, "OOOI(II)d", &target, &first, &second, &bands, &size[0],
                          &size[1], &share)) {
        return NULL;
    }
    if (!find(&out, target, bands, size) || !find(&a, first, bands, size) ||
        !find(&b, second, bands, size)) {
        return PyLong_FromLong(UNKNOWN);
    }
    WITHOUT_GIL(stk_blend(&out, &a, &b, (float)share));
    return PyLong_FromLong(0);
}

/* convert(target, source, size, kind): kind is one of enum stk_conversion. */
PyObject *core_convert(PyObject *module, PyObject *arguments)
{
    PyObject *target, *source;
    uint32_t size[2], kind;
    struct stk_picture out, in;
    if (!PyArg_ParseTuple(arguments, "OO(II)I", &target, &source, &size[0], &size[1], &kind)) {
        return NULL;
    }
    if (kind > STK_FROM_HSV || !find(&out, target, kind == STK_TO_GREY ? 1 : 3, size) ||
        !find(&in, source, kind == STK_FROM_GREY ? 1 : 3, size)) {
        return PyLong_FromLong(UNKNOWN);
    }
    WITHOUT_GIL(stk_convert(&out, &in, (enum stk_conversion)kind));
    return PyLong_FromLong(0);
}

#define MOST_CHANGES 8

/* Reads kinds and numbers by turns. Returns how many changes they are, or -1. */
static int changes_of(struct stk_recolouring out[MOST_CHANGES], PyObject *numbers)
{
    Py_ssize_t count = PyTuple_Size(numbers);
    if (count < 0 || count > 2 * MOST_CHANGES || count % 2 != 0) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i += 2) {
        double kind = PyFloat_AsDouble(PyTuple_GetItem(numbers, i));
        double number = PyFloat_AsDouble(PyTuple_GetItem(numbers, i + 1));
        bool is_hue = kind == STK_HUE;
        if (!(kind >= STK_BRIGHTNESS && kind <= STK_HUE) || number != number ||
            (is_hue && !(number >= 0 && number <= 255))) {
            return -1;
        }
        out[i / 2] = (struct stk_recolouring){(enum stk_recolouring_kind)kind, (float)number};
    }
    return (int)(count / 2);
}

/* recolour(target, source, size, changes): changes the colours of RGB. Each change is one of enum
 * stk_change_kind and its number. */
PyObject *core_recolour(PyObject *module, PyObject *arguments)
{
    PyObject *target, *source, *numbers;
    uint32_t size[2];
    struct stk_recolouring changes[MOST_CHANGES];
    struct stk_picture out, in;
    if (!PyArg_ParseTuple(arguments, "OO(II)O", &target, &source, &size[0], &size[1], &numbers)) {
        return NULL;
    }
    int count = changes_of(changes, numbers);
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (count < 0 || !find(&out, target, 3, size) || !find(&in, source, 3, size)) {
        return PyLong_FromLong(UNKNOWN);
    }
    WITHOUT_GIL(stk_recolour(&out, &in, changes, (unsigned)count));
    return PyLong_FromLong(0);
}

/* look_up(target, source, bands, size, tables): looks values up in the bytes of a table of 256 for
 * each band. */
PyObject *core_look_up(PyObject *module, PyObject *arguments)
{
    PyObject *target, *source;
    const char *values;
    Py_ssize_t length;
    uint32_t bands, size[2];
    struct stk_picture out, in;
    struct stk_value_tables tables;
    if (!PyArg_ParseTuple(arguments, "OOI(II)y#", &target, &source, &bands, &size[0], &size[1],
                          &values, &length)) {
        return NULL;
    }
    if (length != (Py_ssize_t)bands * STK_TABLE_VALUES || !find(&out, target, bands, size) ||
        !find(&in, source, bands, size)) {
        return PyLong_FromLong(UNKNOWN);
    }
    memcpy(&tables, values, (size_t)length);
    WITHOUT_GIL(stk_look_up(&out, &in, &tables));
    return PyLong_FromLong(0);
}

/* find_tables(source, bands, size, kind): returns the bytes of the tables of an image, of one of
 * enum stk_table_kind. */
PyObject *core_find_tables(PyObject *module, PyObject *arguments)
{
    PyObject *source;
    uint32_t bands, size[2], kind;
    struct stk_picture in;
    struct stk_value_tables tables;
    if (!PyArg_ParseTuple(arguments, "OI(II)I", &source, &bands, &size[0], &size[1], &kind)) {
        return NULL;
    }
    if (kind > STK_EVEN || !find(&in, source, bands, size)) {
        return PyLong_FromLong(UNKNOWN);
    }
    WITHOUT_GIL(stk_find_tables(&tables, &in, (enum stk_table_kind)kind));
    return PyBytes_FromStringAndSize((const char *)&tables, (Py_ssize_t)bands * STK_TABLE_VALUES);
}

/* weigh_nine(target, source, bands, size, weights, scale): nine weights of the pixels around each,
 * over their scale. */
PyObject *core_weigh_nine(PyObject *module, PyObject *arguments)
{
    PyObject *target, *source;
    uint32_t bands, size[2];
    float w[9], scale;
    struct stk_picture out, in;
    if (!PyArg_ParseTuple(arguments, "OOI(II)(fffffffff)f", &target, &source, &bands, &size[0],
                          &size[1], &w[0], &w[1], &w[2], &w[3], &w[4], &w[5], &w[6], &w[7], &w[8],
                          &scale)) {
        return NULL;
    }
    for (unsigned i = 0; i < 9; i++) {
        w[i] /= scale;
    }
    if (!find(&out, target, bands, size) || !find(&in, source, bands, size)) {
        return PyLong_FromLong(UNKNOWN);
    }
    WITHOUT_GIL(stk_weigh_nine(&out, &in, w));
    return PyLong_FromLong(0);
}

static bool is_radius(float radius)
{
    return radius >= 0 && radius <= STK_BOX_MOST;
}

/* blur(target, source, size, radii, passes): blurs RGB with boxes, or like a Gaussian of these
 * standard deviations if there are passes. Without passes there is one, with boxes of these radii.
 */
PyObject *core_blur(PyObject *module, PyObject *arguments)
{
    PyObject *target, *source;
    uint32_t size[2], passes;
    float radius[2];
    struct stk_picture out, in;
    if (!PyArg_ParseTuple(arguments, "OO(II)(ff)I", &target, &source, &size[0], &size[1],
                          &radius[0], &radius[1], &passes)) {
        return NULL;
    }
    for (unsigned axis = 0; passes > 0 && axis < 2; axis++) {
        radius[axis] = stk_box_of_gaussian(radius[axis], passes);
    }
    if (!is_radius(radius[0]) || !is_radius(radius[1]) || !find(&out, target, 3, size) ||
        !find(&in, source, 3, size)) {
        return PyLong_FromLong(UNKNOWN);
    }
    int status;
    WITHOUT_GIL(status = stk_box_blur(&out, &in, radius, passes > 0 ? passes : 1));
    return PyLong_FromLong(status);
}

/* warp(target, source, size, to, factors, has_perspective, is_bicubic, clears): warps RGB by eight
 * factors (struct stk_warp). */
PyObject *core_warp(PyObject *module, PyObject *arguments)
{
    PyObject *target, *source;
    uint32_t size[2], to[2];
    int has_perspective, is_bicubic, clears;
    struct stk_warp warp = {0};
    double *c = warp.factors;
    struct stk_picture out, in;
    if (!PyArg_ParseTuple(arguments, "OO(II)(II)(dddddddd)ppp", &target, &source, &size[0],
                          &size[1], &to[0], &to[1], &c[0], &c[1], &c[2], &c[3], &c[4], &c[5], &c[6],
                          &c[7], &has_perspective, &is_bicubic, &clears)) {
        return NULL;
    }
    warp.has_perspective = has_perspective != 0;
    warp.is_bicubic = is_bicubic != 0;
    warp.clears = clears != 0;
    if (!find(&out, target, 3, to) || !find(&in, source, 3, size)) {
        return PyLong_FromLong(UNKNOWN);
    }
    bool done;
    WITHOUT_GIL(done = stk_warp_image(&out, &in, warp));
    return PyLong_FromLong(done ? 0 : UNKNOWN);
}
