/* Conversions to and from Python's tuples. */
#include "wrappers/python/core/steps/step_request.h"

#include "wrappers/python/core/common/functions.h"
#include "wrappers/python/core/common/objects.h"

static int take_step(struct step *step, PyObject *tuple)
{
    double *values = step->values;
    PyObject *further;
    return PyArg_ParseTuple(tuple, "iiO&O&(dddddd)|O;not a step", &step->kind, &step->filter,
                            take_u32, &step->height, take_u32, &step->width, &values[0], &values[1],
                            &values[2], &values[3], &values[4], &values[5], &further);
}

int steps_of(struct steps *steps, PyObject *tuple)
{
    Py_ssize_t count = PyTuple_Size(tuple);
    if (count > STEPS_MOST) {
        PyErr_SetString(PyExc_ValueError, "too many steps");
        return -1;
    }
    for (steps->count = 0; steps->count < (size_t)count; steps->count++) {
        PyObject *step = PyTuple_GetItem(tuple, (Py_ssize_t)steps->count);
        if (!take_step(&steps->of[steps->count], step)) {
            return -1;
        }
    }
    return 0;
}

struct numbers *numbers_in(void *memory, size_t bytes)
{
    struct numbers *numbers = memory;
    if (bytes < sizeof *numbers || !numbers_are_sound(numbers)) {
        PyErr_SetString(PyExc_ValueError, "no state of a generator");
        return NULL;
    }
    return numbers;
}

/* words(count, state): so many draws of 32 bits from the state of torch's generator. */
PyObject *core_words(PyObject *module, PyObject *arguments)
{
    HELD_BUFFER Py_buffer state = {0};
    Py_ssize_t count;
    if (!PyArg_ParseTuple(arguments, "nw*", &count, &state)) {
        return NULL;
    }
    struct numbers *numbers = numbers_in(state.buf, (size_t)state.len);
    PyObject *words = numbers != NULL ? PyList_New(0) : NULL;
    for (Py_ssize_t i = 0; words != NULL && i < count; i++) {
        HELD PyObject *word = PyLong_FromUnsignedLong(numbers_draw(numbers));
        if (word == NULL || PyList_Append(words, word) != 0) {
            Py_CLEAR(words);
        }
    }
    return words;
}
