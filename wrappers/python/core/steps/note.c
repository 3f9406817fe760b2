/* Notes the steps of one image, for Python. */
#include "wrappers/python/core/common/functions.h"
#include "wrappers/python/core/common/objects.h"
#include "wrappers/python/core/decode/plan_request.h"
#include "wrappers/python/core/steps/generator.h"
#include "wrappers/python/core/steps/step_request.h"

/* A call of note(). */
struct noting {
    struct steps steps;
    size_t at;
    struct sketch sketch;
    PyObject *generator; /* torch's, or None */
};

static int take_noting(struct noting *noting, PyObject *arguments)
{
    PyObject *steps, *geometry;
    Py_ssize_t at;
    *noting = (struct noting){.at = 0};
    if (!PyArg_ParseTuple(arguments, "O!nO!O&O", &PyTuple_Type, &steps, &at, &PyTuple_Type,
                          &geometry, take_u32, &noting->sketch.channels, &noting->generator)) {
        return -1;
    }
    noting->at = (size_t)at;
    if (steps_of(&noting->steps, steps) != 0 || geometry_of(&noting->sketch.plan, geometry) != 0) {
        return -1;
    }
    uint32_t width, height;
    plan_size(&noting->sketch.plan, &width, &height);
    noting->sketch.width = width;
    noting->sketch.height = height;
    return 0;
}

static bool note_with(void *context, struct numbers *numbers)
{
    struct noting *noting = context;
    noting->at = sketch_note(&noting->sketch, &noting->steps, noting->at, numbers);
    return true;
}

static PyObject *rest_of(const struct sketch *sketch)
{
    const int64_t *box = sketch->box;
    const struct step *resize = &sketch->resize;
    switch (sketch->rest) {
    case REST_CROP:
        return Py_BuildValue("LLLL", (long long)box[0], (long long)box[1], (long long)box[2],
                             (long long)box[3]);
    case REST_RESIZE:
        return Py_BuildValue("(II)i", resize->width, resize->height, resize->filter);
    default:
        return Py_NewRef(Py_None);
    }
}

/*
 * note(steps, at, geometry, channels, generator): notes the steps from the at-th on, with numbers
 * that are drawn from torch's generator (None: nothing is drawn). The image has so many channels,
 * and a plan of this geometry so far (plan_request.h). Returns (the place of the first step that
 * is not noted, the new geometry or None if it is unchanged, what the last noted step has left).
 * That is None, a box (left, top, right, bottom) to crop to, or ((width, height), filter) to resize
 * to.
 */
PyObject *core_note(PyObject *module, PyObject *arguments)
{
    struct noting noting;
    if (take_noting(&noting, arguments) != 0) {
        return NULL;
    }
    struct sketch *sketch = &noting.sketch;
    if (noting.generator == Py_None || !steps_draw(&noting.steps, noting.at)) {
        noting.at = sketch_note(sketch, &noting.steps, noting.at, NULL);
    } else if (generator_draw(noting.generator, note_with, &noting) != 0) {
        return NULL;
    }
    struct stk_plan plan = sketch_plan(sketch);
    PyObject *geometry = sketch->changed ? geometry_from(&plan) : Py_NewRef(Py_None);
    PyObject *rest = geometry != NULL ? rest_of(sketch) : NULL;
    if (rest == NULL) {
        Py_XDECREF(geometry);
        return NULL;
    }
    return Py_BuildValue("nNN", (Py_ssize_t)noting.at, geometry, rest);
}
