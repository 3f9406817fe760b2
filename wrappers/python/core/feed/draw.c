/* Draws the random numbers of a batch's images and makes their plans, for Python. */
#include "wrappers/python/core/common/functions.h"
#include "wrappers/python/core/feed/files.h"
#include "wrappers/python/core/common/objects.h"
#include "wrappers/python/core/steps/numbers.h"
#include "wrappers/python/core/steps/steps.h"

/* A call of draw(): the steps, and which images they are for. */
struct drawing {
    struct steps steps;
    int order;                /* enum stk_pass_order */
    PyObject *kinds;          /* {kind: whether it is decoded here} */
    unsigned long long taken; /* the last kind of which that is known, if any_taken */
    bool any_taken;
    unsigned long long most_pixels, most_for_byte;
    struct numbers *numbers;
};

static int take_step(struct step *step, PyObject *tuple)
{
    double *values = step->values;
    return PyArg_ParseTuple(tuple, "iiO&O&(dddddd);not a step", &step->kind, &step->filter,
                            take_u32, &step->height, take_u32, &step->width, &values[0], &values[1],
                            &values[2], &values[3], &values[4], &values[5]);
}

static int take_steps(struct steps *steps, PyObject *tuple)
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

/* Returns true if Python has said that files of this kind are decoded here. */
static bool is_taken(struct drawing *drawing, unsigned long long kind)
{
    if (drawing->any_taken && drawing->taken == kind) {
        return true;
    }
    PyObject *number = PyLong_FromUnsignedLongLong(kind);
    PyObject *said = number != NULL ? PyDict_GetItemWithError(drawing->kinds, number) : NULL;
    Py_XDECREF(number);
    PyErr_Clear();
    if (said == Py_True) {
        drawing->taken = kind;
        drawing->any_taken = true;
    }
    return said == Py_True;
}

static bool is_likely(const struct drawing *drawing, const struct stk_jpeg_info *info)
{
    unsigned long long pixels = (unsigned long long)info->width * info->height;
    return pixels <= drawing->most_pixels && pixels <= drawing->most_for_byte * info->end;
}

static bool draw(struct drawing *drawing, struct item *item)
{
    const struct stk_jpeg_info *info = &item->info;
    item->is_drawn =
        item->found != ITEM_NOTHING && is_likely(drawing, info) &&
        is_taken(drawing, files_kind(item)) &&
        steps_plan(&drawing->steps, info->width, info->height, drawing->numbers, &item->plan);
    item->plan.order = (enum stk_pass_order)drawing->order;
    return item->is_drawn;
}

/* NULL, with an exception set: none that can be drawn from. */
static struct numbers *numbers_in(const Py_buffer *state)
{
    struct numbers *numbers = state->buf;
    if ((size_t)state->len < sizeof *numbers || !numbers_are_sound(numbers)) {
        PyErr_SetString(PyExc_ValueError, "no state of a generator");
        return NULL;
    }
    return numbers;
}

static Py_ssize_t draw_from(struct files *files, struct drawing *drawing, Py_ssize_t at)
{
    while (at >= 0 && at < files->count && draw(drawing, &files->items[at])) {
        at++;
    }
    return at;
}

/*
 * files.draw(at, steps, order, kinds, (most pixels, most for a byte, least side), state): draws
 * random numbers from the state of torch's generator, and plans images from the at-th on. Returns
 * the next image: the first that it does not take. It takes an image of a kind in `kinds` that is
 * decoded here, is not too large (pixels; pixels for a byte of the file) and does not become too
 * small. It must know the steps, too (steps.h: kind, filter, height, width, values).
 */
PyObject *files_draw(PyObject *self, PyObject *arguments)
{
    Py_buffer state;
    Py_ssize_t at;
    PyObject *steps;
    struct drawing drawing = {0};
    struct files *files = (struct files *)self;
    if (files_idle_pool(files) == NULL ||
        !PyArg_ParseTuple(arguments, "nO!iO!(KKI)w*", &at, &PyTuple_Type, &steps, &drawing.order,
                          &PyDict_Type, &drawing.kinds, &drawing.most_pixels,
                          &drawing.most_for_byte, &drawing.steps.least_side, &state)) {
        return NULL;
    }
    drawing.numbers = numbers_in(&state);
    bool drawn = drawing.numbers != NULL && take_steps(&drawing.steps, steps) == 0;
    at = drawn ? draw_from(files, &drawing, at) : -1;
    PyBuffer_Release(&state);
    return drawn ? PyLong_FromSsize_t(at) : NULL;
}

/* feed_words(count, state): so many draws of 32 bits from the state of torch's generator. */
PyObject *core_feed_words(PyObject *module, PyObject *arguments)
{
    Py_buffer state;
    Py_ssize_t count;
    if (!PyArg_ParseTuple(arguments, "nw*", &count, &state)) {
        return NULL;
    }
    struct numbers *numbers = numbers_in(&state);
    PyObject *words = numbers != NULL ? PyList_New(0) : NULL;
    for (Py_ssize_t i = 0; words != NULL && i < count; i++) {
        PyObject *word = PyLong_FromUnsignedLong(numbers_draw(numbers));
        if (word == NULL || PyList_Append(words, word) != 0) {
            Py_CLEAR(words);
        }
        Py_XDECREF(word);
    }
    PyBuffer_Release(&state);
    return words;
}

/* files.drawn_size(): (width, height) of all that were drawn; None: these differ, or there are
 * none. */
PyObject *files_drawn_size(PyObject *self, PyObject *unused)
{
    uint32_t width, height, found[2] = {0, 0};
    struct files *files = (struct files *)self;
    if (files_idle_pool(files) == NULL) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < files->count; i++) {
        if (!files->items[i].is_drawn) {
            continue;
        }
        steps_result(&files->items[i].plan, &width, &height);
        if (found[0] != 0 && (found[0] != width || found[1] != height)) {
            Py_RETURN_NONE;
        }
        found[0] = width;
        found[1] = height;
    }
    if (found[0] == 0) {
        Py_RETURN_NONE;
    }
    return Py_BuildValue("II", found[0], found[1]);
}

/* files.drawn(i): ((crop), (size), filter, flip, (window) or None) of one that was drawn. */
PyObject *files_drawn(PyObject *self, PyObject *number)
{
    const struct item *item = files_item((struct files *)self, number);
    if (item == NULL || !item->is_drawn) {
        return item == NULL ? NULL : Py_NewRef(Py_None);
    }
    const struct stk_plan *plan = &item->plan;
    const uint32_t *window = plan->window;
    PyObject *wanted = window[2] > window[0]
                           ? Py_BuildValue("IIII", window[0], window[1], window[2], window[3])
                           : Py_NewRef(Py_None);
    return Py_BuildValue("(iiii)(II)iIN", plan->crop[0], plan->crop[1], plan->crop[2],
                         plan->crop[3], plan->width, plan->height, (int)plan->filter, plan->flip,
                         wanted);
}
