/*
 * The numbers of a few boxes beside an image: what torchvision's resize, flips, conversion and
 * SanitizeBoundingBoxes make of them.
 *
 * A product or a sum of two floats that is made of doubles and rounded once is the float that torch
 * makes.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "wrappers/python/core/common/functions.h"

#define SIDES 4
#define MOST  ((double)(1 << 24)) /* whole numbers up to this one are the same in each type */
#define DOUBT 1e-6                /* more than a float's rounding */

/* The boxes of a call, and which of the rows so far stay. */
struct boxes {
    double (*box)[SIDES];
    size_t count;
    char type; /* 'f', 'd' or 'q', as in Python's struct */
    PyObject *mask;
};

/* Volatile: with -O3, GCC 12 leaves out this rounding for the last of an odd number of boxes, when
 * it makes vectors of two. */
static double to_float(double value)
{
    volatile float narrow = (float)value;
    return (double)narrow;
}

static double rounded(const struct boxes *boxes, double value)
{
    return boxes->type == 'f' ? to_float(value) : value;
}

/* ---- changes ---- */

/* ("resize", a factor of the width, one of the height). Torch multiplies whole numbers as floats: a
 * flip may have made such that are none. */
static int resize(struct boxes *boxes, PyObject *change)
{
    const char *name;
    double factors[2];
    if (!PyArg_ParseTuple(change, "sdd", &name, &factors[0], &factors[1])) {
        return -1;
    }
    for (size_t i = 0; i < boxes->count; i++) {
        for (size_t side = 0; side < SIDES; side++) {
            double *number = &boxes->box[i][side], factor = to_float(factors[side % 2]);
            *number = boxes->type == 'q' ? trunc(to_float(to_float(*number) * factor))
                                         : rounded(boxes, *number * factor);
        }
    }
    return 0;
}

/* ("flip", 0 for left to right or 1, the format, the image's size in this direction) */
static int flip(struct boxes *boxes, PyObject *change)
{
    int first;
    const char *name, *form;
    double size;
    if (!PyArg_ParseTuple(change, "sisd", &name, &first, &form, &size)) {
        return -1;
    }
    bool has_corners = strcmp(form, "XYXY") == 0, has_sides = strcmp(form, "XYWH") == 0;
    for (size_t i = 0; i < boxes->count; i++) {
        double *begin = boxes->box[i] + (first != 0), *end = begin + 2, far = *begin;
        if (has_corners) {
            far = *end;
            *end = -rounded(boxes, *begin - size);
        } else if (has_sides) {
            far = rounded(boxes, *begin + *end);
        }
        *begin = -rounded(boxes, far - size);
    }
    return 0;
}

/* ("corners",): of left, top, width and height. */
static int corner(struct boxes *boxes, PyObject *change)
{
    for (size_t i = 0; i < boxes->count; i++) {
        for (size_t side = 0; side < 2; side++) {
            double *end = &boxes->box[i][side + 2];
            *end = rounded(boxes, boxes->box[i][side] + *end);
        }
    }
    return 0;
}

static bool is_near(double size, double least)
{
    return fabs(size - least) <= least * DOUBT;
}

static bool are_usual(const double box[SIDES])
{
    bool are = true;
    for (size_t side = 0; side < SIDES; side++) {
        are &= -MOST < box[side] && box[side] < MOST;
    }
    return are;
}

/* Returns 1 for a box of corners to keep, 0 for another one, or -1 for one in doubt. */
static int is_kept(const double box[SIDES], const double canvas[2], double side, double area)
{
    double across = box[2] - box[0], down = box[3] - box[1], whole = across * down;
    if (!are_usual(box) || is_near(across, side) || is_near(down, side) || is_near(whole, area)) {
        return -1;
    }
    bool is_inside = fmin(fmin(box[0], box[1]), fmin(box[2], box[3])) >= 0 &&
                     fmax(box[0], box[2]) <= canvas[1] && fmax(box[1], box[3]) <= canvas[0];
    return is_inside && across >= side && down >= side && whole >= area;
}

/* ("keep", height, width, the least side, the least area) */
static int keep(struct boxes *boxes, PyObject *change)
{
    const char *name;
    double canvas[2], side, area;
    if (!PyArg_ParseTuple(change, "sdddd", &name, &canvas[0], &canvas[1], &side, &area)) {
        return -1;
    }
    size_t kept = 0;
    for (size_t i = 0; i < boxes->count; i++) {
        int is = is_kept(boxes->box[i], canvas, side, area);
        if (is < 0) {
            PyErr_SetString(PyExc_ValueError, "rounding may count, or no usual number");
        }
        if (is < 0 || PyList_Append(boxes->mask, is ? Py_True : Py_False) != 0) {
            return -1;
        }
        memmove(boxes->box[kept], boxes->box[i], sizeof boxes->box[i]);
        kept += (size_t)is;
    }
    boxes->count = kept;
    return 0;
}

static int do_change(struct boxes *boxes, PyObject *change)
{
    static const struct {
        const char *name;
        int (*change)(struct boxes *boxes, PyObject *change);
    } kinds[] = {{"resize", resize}, {"flip", flip}, {"corners", corner}, {"keep", keep}};
    PyObject *name = PyTuple_Check(change) ? PyTuple_GetItem(change, 0) : NULL;
    for (size_t i = 0; name != NULL && i < sizeof kinds / sizeof *kinds; i++) {
        if (PyUnicode_CompareWithASCIIString(name, kinds[i].name) == 0) {
            return kinds[i].change(boxes, change);
        }
    }
    PyErr_SetString(PyExc_ValueError, "no such change");
    return -1;
}

/* ---- from Python, and back ---- */

static int take_box(double box[SIDES], PyObject *numbers)
{
    for (Py_ssize_t side = 0; side < SIDES; side++) {
        PyObject *number = PyList_GetItem(numbers, side);
        box[side] = number == NULL ? -1 : PyFloat_AsDouble(number);
        if (PyErr_Occurred() != NULL) {
            return -1;
        }
    }
    if (!are_usual(box)) {
        PyErr_SetString(PyExc_ValueError, "too large, or no number");
        return -1;
    }
    return 0;
}

static void put_number(char *to, char type, double number)
{
    if (type == 'f') {
        memcpy(to, &(float){(float)number}, sizeof(float));
    } else if (type == 'q') {
        memcpy(to, &(int64_t){(int64_t)number}, sizeof(int64_t));
    } else {
        memcpy(to, &number, sizeof number);
    }
}

static PyObject *bytes_of(const struct boxes *boxes)
{
    size_t size = boxes->type == 'f' ? sizeof(float) : sizeof(double);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(SIDES * size * boxes->count));
    for (size_t i = 0; bytes != NULL && i < SIDES * boxes->count; i++) {
        put_number(PyBytes_AsString(bytes) + size * i, boxes->type,
                   boxes->box[i / SIDES][i % SIDES]);
    }
    return bytes;
}

static PyObject *changed(struct boxes *boxes, PyObject *numbers, PyObject *changes)
{
    for (size_t i = 0; i < boxes->count; i++) {
        if (take_box(boxes->box[i], PyList_GetItem(numbers, (Py_ssize_t)i)) != 0) {
            return NULL;
        }
    }
    for (Py_ssize_t i = 0; i < PyList_Size(changes); i++) {
        if (do_change(boxes, PyList_GetItem(changes, i)) != 0) {
            return NULL;
        }
    }
    PyObject *bytes = bytes_of(boxes);
    return bytes == NULL ? NULL : Py_BuildValue("NO", bytes, boxes->mask);
}

/*
 * boxes(numbers, type, changes): does a list of changes, each a tuple that begins with its name,
 * with a list of boxes, each a list of four numbers. The type is "f", "d" or "q". Returns (the
 * numbers' bytes in this type, true or false for each box that "keep" has seen). Raises ValueError
 * for numbers that are torchvision's to change.
 */
PyObject *core_boxes(PyObject *module, PyObject *arguments)
{
    PyObject *numbers, *changes;
    int type;
    if (!PyArg_ParseTuple(arguments, "O!CO!", &PyList_Type, &numbers, &type, &PyList_Type,
                          &changes)) {
        return NULL;
    }
    struct boxes boxes = {.count = (size_t)PyList_Size(numbers), .type = (char)type};
    HELD PyObject *mask = boxes.mask = PyList_New(0);
    boxes.box = PyMem_Malloc(sizeof *boxes.box * (boxes.count + 1));
    if (mask == NULL || boxes.box == NULL) {
        PyMem_Free(boxes.box);
        return PyErr_NoMemory();
    }
    PyObject *result = changed(&boxes, numbers, changes);
    PyMem_Free(boxes.box);
    return result;
}
