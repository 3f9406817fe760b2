/* Makes the result of all steps of a small image in one call, for Python. */
#include <stdlib.h>
#include <string.h>

#include "wrappers/python/core/common/functions.h"
#include "wrappers/python/core/decode/pixels.h"
#include "wrappers/python/core/decode/plan_request.h"
#include "wrappers/python/core/decode/thread_decoder.h"
#include "wrappers/python/core/steps/generator.h"
#include "wrappers/python/core/steps/step_request.h"

#define MOST_BYTES (1 << 18) /* of an image. The GIL is held meanwhile */
#define CHANNELS   4

/* A call of make_small(). */
struct making {
    struct steps steps;
    uint8_t fills[STEPS_MOST][CHANNELS]; /* the colour beyond the image, for each step */
    struct stk_image image;
    unsigned char *padded; /* the rows of `image`, if they were made here */
    struct plan_request request;
    struct stk_decoder *decoder;
    int status; /* STK_DECODE_... */
};

/* ---- from Python ---- */

static bool take_values(uint8_t fill[CHANNELS], PyObject *values)
{
    bool is_tuple = PyTuple_Check(values);
    Py_ssize_t count = is_tuple ? PyTuple_Size(values) : 1;
    for (Py_ssize_t i = 0; i < CHANNELS && count > 0; i++) {
        PyObject *value = is_tuple ? PyTuple_GetItem(values, i < count ? i : count - 1) : values;
        fill[i] = (uint8_t)PyLong_AsLong(value);
    }
    return PyErr_Occurred() == NULL;
}

/* Reads the colours of the steps, their sixth elements. Returns 0, or -1 with an exception set. */
static int take_fills(struct making *making, PyObject *steps)
{
    for (Py_ssize_t i = 0; i < (Py_ssize_t)making->steps.count; i++) {
        PyObject *step = PyTuple_GetItem(steps, i);
        if (PyTuple_Size(step) > 5 && !take_values(making->fills[i], PyTuple_GetItem(step, 5))) {
            return -1;
        }
    }
    return 0;
}

/* ---- the image ---- */

/* Copies the part of the image that lies in the box to the same place of the padded rows. */
static void copy_inside(unsigned char *padded, const struct stk_image *image, const int64_t box[4])
{
    int64_t left = box[0] > 0 ? box[0] : 0, right = box[2] < image->width ? box[2] : image->width;
    int64_t bottom = box[3] < image->height ? box[3] : image->height;
    size_t row_bytes = (size_t)(box[2] - box[0]) * image->channels;
    for (int64_t y = box[1] > 0 ? box[1] : 0; y < bottom && left < right; y++) {
        memcpy(padded + (size_t)(y - box[1]) * row_bytes +
                   (size_t)(left - box[0]) * image->channels,
               (const unsigned char *)image->data + (size_t)y * image->row_bytes +
                   (size_t)left * image->channels,
               (size_t)(right - left) * image->channels);
    }
}

static void paint(unsigned char *rows, size_t bytes, const uint8_t *fill, uint32_t channels)
{
    for (size_t i = 0; i < bytes; i++) {
        rows[i] = fill[i % channels];
    }
}

/* Crops the image to a box that reaches beyond it. Returns false if it is too large. */
static bool pad(struct making *making, const int64_t box[4], const uint8_t *fill)
{
    struct stk_image *image = &making->image;
    int64_t width = box[2] - box[0], height = box[3] - box[1];
    if (width * height > MOST_BYTES / CHANNELS) {
        return false;
    }
    size_t row_bytes = (size_t)width * image->channels, bytes = row_bytes * (size_t)height;
    unsigned char *rows = malloc(bytes);
    if (rows == NULL) {
        return false;
    }
    paint(rows, bytes, fill, image->channels);
    copy_inside(rows, image, box);
    free(making->padded);
    making->padded = rows;
    *image = (struct stk_image){.data = rows,
                                .width = (uint32_t)width,
                                .height = (uint32_t)height,
                                .channels = image->channels,
                                .row_bytes = row_bytes};
    return true;
}

static struct sketch sketch_of(const struct stk_image *image)
{
    return sketch_begin(image->width, image->height, image->channels);
}

/* Notes all steps. A crop beyond the image is done at once, if nothing else was noted before.
 * Returns false if a step cannot be done here. */
static bool note_all(struct making *making, struct sketch *sketch, struct numbers *numbers)
{
    const struct steps *steps = &making->steps;
    size_t at = 0;
    *sketch = sketch_of(&making->image);
    while (at < steps->count) {
        const struct stk_plan *plan = &sketch->plan;
        size_t next = sketch_note(sketch, steps, at, numbers);
        if (next == at) {
            return false;
        }
        at = next;
        if (sketch->rest == REST_CROP && plan->filter == 0 && plan->flip == 0 &&
            sketch->width == making->image.width && sketch->height == making->image.height &&
            pad(making, sketch->box, making->fills[at - 1])) {
            *sketch = sketch_of(&making->image);
        }
        if (sketch->rest != REST_NOTHING) {
            return false;
        }
    }
    return true;
}

/* Gives the plan of the steps the layout of the requested one. Returns false if the size is
 * another. */
static bool plan_as_requested(struct stk_plan *plan, const struct plan_request *request)
{
    uint32_t width, height;
    const struct stk_plan *wanted = &request->plan;
    plan_size(plan, &width, &height);
    plan->resizer = wanted->resizer;
    plan->channels = wanted->channels;
    plan->layout = wanted->layout;
    plan->type = wanted->type;
    plan->table = wanted->table;
    return width == wanted->width && height == wanted->height;
}

static bool make(void *context, struct numbers *numbers)
{
    struct making *making = context;
    struct sketch sketch;
    if (!note_all(making, &sketch, numbers)) {
        return false;
    }
    struct stk_plan plan = sketch_plan(&sketch);
    if (!plan_as_requested(&plan, &making->request)) {
        return false;
    }
    making->status = stk_transform(making->decoder, &making->image, &plan, &making->request.target);
    return making->status == STK_DECODE_OK;
}

/* Returns 0, or -1 with an exception set. */
static int make_with(struct making *making, PyObject *generator)
{
    making->decoder = thread_decoder();
    making->status = STK_DECODE_UNSUPPORTED;
    if (making->decoder == NULL || making->image.row_bytes * making->image.height > MOST_BYTES ||
        making->request.target.bytes > MOST_BYTES * sizeof(float)) {
        return 0;
    }
    if (!steps_draw(&making->steps, 0)) {
        make(making, NULL);
        return 0;
    }
    return generator_draw(generator, make, making);
}

/*
 * make_small(steps, pixels, (width, height, channels), plan, generator, out): carries out all steps
 * on a small image, with numbers of torch's generator. The plan is that of a whole image of the
 * result's size, of which only the layout and the resizer are used (plan_request.h). A step's sixth
 * element is the colour of what a crop finds beyond the image: a number, or one for each channel.
 * Returns `out`, or a negative number with nothing drawn if it cannot be made here; `out` may be
 * written to.
 */
PyObject *core_make_small(PyObject *module, PyObject *arguments)
{
    struct making making = {0};
    HELD_BUFFER Py_buffer in = {0};
    PyObject *steps, *shape, *plan, *generator, *out, *result = NULL;
    if (!PyArg_ParseTuple(arguments, "O!y*O!O!OO", &PyTuple_Type, &steps, &in, &PyTuple_Type,
                          &shape, &PyTuple_Type, &plan, &generator, &out)) {
        return NULL;
    }
    if (steps_of(&making.steps, steps) == 0 && take_fills(&making, steps) == 0 &&
        take_image(&making.image, shape, &in) == 0 &&
        request_begin(&making.request, plan, out) == 0) {
        int failed = make_with(&making, generator);
        result = request_end(&making.request, making.status);
        if (failed) {
            Py_CLEAR(result);
        }
    }
    free(making.padded);
    return result;
}
