/* Draws the numbers of torchvision's changes of colours, for Python. */
#include "wrappers/python/core/common/functions.h"
#include "wrappers/python/core/steps/generator.h"

#define KINDS 4 /* of changes: brightness, contrast, saturation, hue */

/* A call of jitter(). */
struct jittering {
    bool changes[KINDS];
    float least[KINDS], width[KINDS]; /* of the range of each factor */
    unsigned order[KINDS];
    float factors[KINDS];
};

/* Reads the range of a kind's factor. Returns 0, or -1 with an exception set. */
static int take_range(struct jittering *jittering, unsigned kind, PyObject *range)
{
    double least = 0, most = 0;
    jittering->changes[kind] = range != Py_None;
    if (range != Py_None && !PyArg_ParseTuple(range, "dd", &least, &most)) {
        return -1;
    }
    jittering->least[kind] = (float)least;
    jittering->width[kind] = (float)most - (float)least;
    return 0;
}

static int take_ranges(struct jittering *jittering, PyObject *ranges)
{
    if (!PyTuple_Check(ranges) || PyTuple_Size(ranges) != KINDS) {
        PyErr_SetString(PyExc_TypeError, "a range of each factor, or None");
        return -1;
    }
    for (unsigned kind = 0; kind < KINDS; kind++) {
        PyObject *range = PyTuple_GetItem(ranges, (Py_ssize_t)kind);
        if ((range != Py_None && !PyTuple_Check(range)) ||
            take_range(jittering, kind, range) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Draws the order as torch.randperm() does, and each factor as uniform_() does. */
static bool draw(void *context, struct numbers *numbers)
{
    struct jittering *jittering = context;
    unsigned *order = jittering->order;
    for (unsigned i = 0; i < KINDS; i++) {
        order[i] = i;
    }
    for (unsigned i = 0; i + 1 < KINDS; i++) {
        unsigned at = i + numbers_below(numbers, KINDS - i), other = order[at];
        order[at] = order[i];
        order[i] = other;
    }
    for (unsigned i = 0; i < KINDS; i++) {
        if (jittering->changes[i]) {
            double way = numbers_share(numbers) * (double)jittering->width[i];
            jittering->factors[i] = (float)((double)jittering->least[i] + way);
        }
    }
    return true;
}

/* jitter(ranges, generator): draws from torch's generator the order of four changes, and the factor
 * of each that has a range (least, most). Returns [(kind, factor)] in that order. */
PyObject *core_jitter(PyObject *module, PyObject *arguments)
{
    struct jittering jittering;
    PyObject *ranges, *generator;
    if (!PyArg_ParseTuple(arguments, "OO", &ranges, &generator) ||
        take_ranges(&jittering, ranges) != 0 || generator_draw(generator, draw, &jittering) != 0) {
        return NULL;
    }
    PyObject *wanted = PyList_New(0);
    for (unsigned i = 0; wanted != NULL && i < KINDS; i++) {
        unsigned kind = jittering.order[i];
        if (jittering.changes[kind]) {
            HELD PyObject *each = Py_BuildValue("Id", kind, (double)jittering.factors[kind]);
            if (each == NULL || PyList_Append(wanted, each) != 0) {
                Py_CLEAR(wanted);
            }
        }
    }
    return wanted;
}

static bool draw_share(void *context, struct numbers *numbers)
{
    *(double *)context = numbers_share(numbers);
    return true;
}

/* share(generator): draws a number from torch's generator as torch.rand(1) does. */
PyObject *core_share(PyObject *module, PyObject *generator)
{
    double share;
    return generator_draw(generator, draw_share, &share) == 0 ? PyFloat_FromDouble(share) : NULL;
}
