/* Carries out plans on the images that Pillow keeps in memory, without copies in between. */
#include <stdbool.h>

#include "base/clock.h"
#include "base/tally.h"
#include "wrappers/python/core/common/functions.h"
#include "wrappers/python/core/common/counts.h"
#include "wrappers/python/core/common/objects.h"
#include "wrappers/python/core/decode/plan_request.h"
#include "wrappers/python/core/decode/thread_decoder.h"
#include "wrappers/python/core/pillow/image_memory.h"

/* Rows in one piece; larger images have several. */
static bool take_target(struct stk_target *target, const struct image_memory *memory)
{
    size_t line = (size_t)memory->width * (memory->bands == 1 ? 1 : 4);
    const char *first = memory->rows[0];
    ptrdiff_t step = memory->height > 1 ? (const char *)memory->rows[1] - first : (ptrdiff_t)line;
    for (uint32_t y = 1; y < memory->height; y++) {
        if (memory->rows[y] != first + (ptrdiff_t)y * step) {
            return false;
        }
    }
    *target = (struct stk_target){.data = (void *)(uintptr_t)first, .row_bytes = (size_t)step};
    target->bytes = (memory->height - 1) * target->row_bytes + line;
    return step >= (ptrdiff_t)line;
}

static struct stk_image image_of(const struct image_memory *memory)
{
    return (struct stk_image){
        .rows = memory->rows,
        .width = memory->width,
        .height = memory->height,
        .channels = memory->bands == 1 ? 1 : 4,
        .unused = memory->bands == 3,
    };
}

/* memory(core, size): the pixels of a core image of mode RGB, four bytes each, or None if they do
 * not lie in one piece. Valid while the caller holds the image. */
PyObject *core_memory(PyObject *module, PyObject *arguments)
{
    PyObject *core;
    struct image_memory memory = {.bands = 3};
    struct stk_target target;
    if (!PyArg_ParseTuple(arguments, "O(II)", &core, &memory.width, &memory.height)) {
        return NULL;
    }
    if (!find_rows(&memory, core) || !take_target(&target, &memory) ||
        target.row_bytes != (size_t)memory.width * 4) {
        Py_RETURN_NONE;
    }
    return PyMemoryView_FromMemory(target.data, (Py_ssize_t)target.bytes, PyBUF_WRITE);
}

/* transform_core(core, (width, height, bands), plan, out): as transform(), from a core image of
 * mode RGB or L. */
PyObject *core_transform_core(PyObject *module, PyObject *arguments)
{
    PyObject *core, *plan, *out;
    struct image_memory memory;
    struct plan_request request;
    if (!PyArg_ParseTuple(arguments, "O(III)O!O", &core, &memory.width, &memory.height,
                          &memory.bands, &PyTuple_Type, &plan, &out) ||
        request_begin(&request, plan, out) != 0) {
        return NULL;
    }
    int status = STK_DECODE_UNSUPPORTED;
    if (find_rows(&memory, core)) {
        struct stk_image image = image_of(&memory);
        BY_DECODER(status, stk_transform(decoder, &image, &request.plan, &request.target));
    }
    return request_end(&request, status);
}

struct job {
    struct image_memory from, to;
    struct stk_plan plan;
    PyObject *source, *target;
};

static int take_job(struct job *job, PyObject *arguments)
{
    struct stk_plan *plan = &job->plan;
    int filter, resizer;
    *job = (struct job){0};
    if (!PyArg_ParseTuple(arguments, "OOO&(O&O&)(O&O&)(ffff)ii", &job->source, &job->target,
                          take_u32, &job->from.bands, take_u32, &job->from.width, take_u32,
                          &job->from.height, take_u32, &job->to.width, take_u32, &job->to.height,
                          &plan->box[0], &plan->box[1], &plan->box[2], &plan->box[3], &filter,
                          &resizer)) {
        return -1;
    }
    job->to.bands = job->from.bands;
    plan->crop[2] = (int32_t)job->from.width;
    plan->crop[3] = (int32_t)job->from.height;
    plan->width = job->to.width;
    plan->height = job->to.height;
    plan->channels = job->from.bands == 1 ? 1 : 4;
    plan->filter = (enum stk_filter)filter;
    plan->resizer = (enum stk_resizer)resizer;
    return 0;
}

/* resize(source, target, bands, size, to, box, filter, resizer): resizes a core image of a size
 * into another one. Returns 0, or a negative number if Pillow has to do it. Pillow changes the rows
 * of no core image, so they stay where they are while the caller holds it. */
PyObject *core_resize(PyObject *module, PyObject *arguments)
{
    struct job job;
    struct stk_target target;
    if (take_job(&job, arguments) != 0) {
        return NULL;
    }
    struct stk_decoder *decoder = thread_decoder();
    int status = STK_DECODE_UNSUPPORTED;
    if (decoder != NULL && find_rows(&job.from, job.source) && find_rows(&job.to, job.target) &&
        take_target(&target, &job.to)) {
        struct stk_image image = image_of(&job.from);
        Py_BEGIN_ALLOW_THREADS;
        int64_t start = stk_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        status = stk_transform(decoder, &image, &job.plan, &target);
        count_more(STK_TALLY_RESIZED_NS,
                   (uint64_t)(stk_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start));
        Py_END_ALLOW_THREADS;
    }
    return PyLong_FromLong(status);
}
