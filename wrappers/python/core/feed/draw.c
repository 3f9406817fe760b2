/* Draws the random numbers of a batch's images and makes their plans, for Python. */
#include "wrappers/python/core/feed/files.h"
#include "wrappers/python/core/decode/plan_request.h"
#include "wrappers/python/core/steps/step_request.h"

/* A call of draw(): the steps, and which images they are for. */
struct drawing {
    struct steps steps;
    int resizer;              /* enum stk_resizer */
    PyObject *kinds;          /* {kind: whether it is decoded here} */
    unsigned long long taken; /* the last kind of which that is known, if any_taken */
    bool any_taken;
    unsigned long long most_pixels, most_for_byte;
    uint32_t least_side; /* of a result */
    struct numbers *numbers;
};

/* Returns true if Python has said that files of this kind are decoded here. */
static bool is_taken(struct drawing *drawing, unsigned long long kind)
{
    if (drawing->any_taken && drawing->taken == kind) {
        return true;
    }
    HELD PyObject *number = PyLong_FromUnsignedLongLong(kind);
    PyObject *said = number != NULL ? PyDict_GetItemWithError(drawing->kinds, number) : NULL;
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

/* Plans an image of this size, if all steps can be noted. */
static bool plan(const struct drawing *drawing, const struct stk_jpeg_info *info,
                 struct stk_plan *plan)
{
    struct numbers before = *drawing->numbers;
    struct sketch sketch = sketch_begin(info->width, info->height, ITEM_COMPONENTS);
    size_t noted = sketch_note(&sketch, &drawing->steps, 0, drawing->numbers);
    if (noted < drawing->steps.count || sketch.rest != REST_NOTHING ||
        sketch.width < drawing->least_side || sketch.height < drawing->least_side) {
        *drawing->numbers = before;
        return false;
    }
    *plan = sketch_plan(&sketch);
    plan->resizer = (enum stk_resizer)drawing->resizer;
    return true;
}

static bool draw(struct drawing *drawing, struct item *item)
{
    const struct stk_jpeg_info *info = &item->info;
    item->is_drawn = item->found != ITEM_NOTHING && is_likely(drawing, info) &&
                     is_taken(drawing, files_kind(item)) && plan(drawing, info, &item->plan);
    return item->is_drawn;
}

static Py_ssize_t draw_from(struct files *files, struct drawing *drawing, Py_ssize_t at)
{
    while (at >= 0 && at < files->count && draw(drawing, &files->items[at])) {
        at++;
    }
    return at;
}

/*
 * files.draw(at, steps, resizer, kinds, (most pixels, most for a byte, least side), state): draws
 * random numbers from the state of torch's generator, and plans images from the at-th on. Returns
 * the next image: the first that it does not take. It takes an image of a kind in `kinds` that is
 * decoded here, is not too large (pixels; pixels for a byte of the file) and does not become too
 * small. It must know the steps, too (steps.h: kind, filter, height, width, values).
 */
PyObject *files_draw(PyObject *self, PyObject *arguments)
{
    HELD_BUFFER Py_buffer state = {0};
    Py_ssize_t at;
    PyObject *steps;
    struct drawing drawing = {0};
    struct files *files = (struct files *)self;
    if (files_idle_pool(files) == NULL ||
        !PyArg_ParseTuple(arguments, "nO!iO!(KKI)w*", &at, &PyTuple_Type, &steps, &drawing.resizer,
                          &PyDict_Type, &drawing.kinds, &drawing.most_pixels,
                          &drawing.most_for_byte, &drawing.least_side, &state)) {
        return NULL;
    }
    drawing.numbers = numbers_in(state.buf, (size_t)state.len);
    bool drawn = drawing.numbers != NULL && steps_of(&drawing.steps, steps) == 0;
    at = drawn ? draw_from(files, &drawing, at) : -1;
    return drawn ? PyLong_FromSsize_t(at) : NULL;
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
        plan_size(&files->items[i].plan, &width, &height);
        if (found[0] != 0 && (found[0] != width || found[1] != height)) {
            Py_RETURN_NONE;
        }
        found[0] = width;
        found[1] = height;
    }
    return found[0] != 0 ? Py_BuildValue("II", found[0], found[1]) : Py_NewRef(Py_None);
}

/* files.drawn(i): the geometry of the plan of one that was drawn (plan_request.h). */
PyObject *files_drawn(PyObject *self, PyObject *number)
{
    const struct item *item = files_item((struct files *)self, number);
    if (item == NULL || !item->is_drawn) {
        return item == NULL ? NULL : Py_NewRef(Py_None);
    }
    return geometry_from(&item->plan);
}
