/* Batches on their way. See gpu/gpu.h. */
#include "gpu/context.h"
#include "gpu/host.h"

/* ---- what is wrong with a batch ---- */

static const char *refuse(const struct stk_gpu_batch *batch)
{
    const char *refusal = stk_gpu_plan_refuse(batch->plan, batch->images, batch->count);
    if (refusal != NULL) {
        return refusal;
    }
    if (batch->out % stk_gpu_type_bytes(batch->plan->type) != 0) {
        return "what comes out is not aligned";
    }
    return batch->memory == NULL
               ? NULL
               : stk_gpu_plan_refuse_outside(batch->plan, batch->images, batch->count,
                                             (uintptr_t)batch->memory, batch->bytes);
}

/* ---- the copy ---- */

/* The images as the device will find them. */
static void tell(const struct stk_gpu_batch *batch, const struct stk_gpu_lane *lane)
{
    uint64_t away = batch->memory == NULL ? 0 : lane->bytes_at - (uintptr_t)batch->memory;
    for (size_t i = 0; i < batch->count; i++) {
        lane->told[i] = batch->images[i];
        lane->told[i].pixels += away;
    }
}

static int copy_memory(struct stk_gpu *gpu, const struct stk_gpu_lane *lane,
                       const struct stk_gpu_batch *batch)
{
    const unsigned char *from = batch->memory;
    size_t left = from == NULL ? 0 : batch->bytes;
    uint64_t to = lane->bytes_at;
    while (left > 0) {
        size_t bytes = stk_gpu_pin_reach(gpu, from, left);
        int result = gpu->driver->copy_to_device(to, from, bytes, gpu->copies);
        if (result != 0) {
            return result;
        }
        from += bytes;
        to += bytes;
        left -= bytes;
    }
    return 0;
}

/* After the lane's last batch is out, which is made from the same memory. */
static int begin_copy(struct stk_gpu *gpu, struct stk_gpu_lane *lane,
                      const struct stk_gpu_batch *batch)
{
    const struct stk_gpu_driver *driver = gpu->driver;
    int result = lane->number == 0 ? 0 : driver->stream_wait_event(gpu->copies, lane->out, 0);
    tell(batch, lane);
    result = result != 0 ? result
                         : driver->copy_to_device(lane->images_at, lane->told,
                                                  batch->count * sizeof *lane->told, gpu->copies);
    result = result != 0 ? result : copy_memory(gpu, lane, batch);
    return result == 0 ? driver->event_record(lane->left, gpu->copies) : result;
}

/* ---- the kernel ---- */

static int follow_caller(struct stk_gpu *gpu, void *stream)
{
    if (stream == STK_GPU_NO_STREAM) {
        return 0;
    }
    int result = gpu->driver->event_record(gpu->before, stream);
    return result == 0 ? gpu->driver->stream_wait_event(gpu->work, gpu->before, 0) : result;
}

static int launch(struct stk_gpu *gpu, const struct stk_gpu_lane *lane,
                  const struct stk_gpu_batch *batch)
{
    const struct stk_gpu_plan *plan = batch->plan;
    struct stk_gpu_job job = stk_gpu_plan_job(plan, lane->images_at, batch->count, batch->out);
    void *parameters[] = {&job};
    return gpu->driver->launch_kernel(gpu->functions[plan->type][plan->layout][plan->channels == 3],
                                      stk_gpu_blocks(plan->width, plan->height, plan->type),
                                      (unsigned)batch->count, 1, STK_GPU_THREADS, 1, 1, 0,
                                      gpu->work, parameters, NULL);
}

static int begin_work(struct stk_gpu *gpu, struct stk_gpu_lane *lane,
                      const struct stk_gpu_batch *batch)
{
    int result = follow_caller(gpu, batch->stream);
    result = result != 0 ? result : gpu->driver->stream_wait_event(gpu->work, lane->left, 0);
    result = result != 0 ? result : launch(gpu, lane, batch);
    return result == 0 ? gpu->driver->event_record(lane->out, gpu->work) : result;
}

/* ---- sending ---- */

static int begin(struct stk_gpu *gpu, struct stk_gpu_lane *lane, const struct stk_gpu_batch *batch,
                 struct stk_gpu_why *why)
{
    int error = stk_gpu_break(gpu, begin_copy(gpu, lane, batch), "copy a batch to the GPU", why);
    return error != STK_GPU_OK
               ? error
               : stk_gpu_break(gpu, begin_work(gpu, lane, batch), "run the kernel", why);
}

static int send_inside(struct stk_gpu *gpu, const struct stk_gpu_batch *batch, uint64_t *number,
                       struct stk_gpu_why *why)
{
    struct stk_gpu_lane *lane = &gpu->lanes[gpu->sent % STK_GPU_LANES];
    size_t bytes = batch->memory == NULL ? 0 : batch->bytes;
    int error = stk_gpu_lane_drain(gpu, lane, why);
    error = error != STK_GPU_OK ? error : stk_gpu_lane_grow(gpu, lane, bytes, batch->count, why);
    error = error != STK_GPU_OK ? error : begin(gpu, lane, batch, why);
    if (error == STK_GPU_OK) {
        lane->number = *number = ++gpu->sent;
        lane->is_held = true;
        lane->holder = batch->holder;
        lane->let_go = batch->let_go;
    }
    return error;
}

int stk_gpu_send(struct stk_gpu *gpu, const struct stk_gpu_batch *batch, uint64_t *number,
                 struct stk_gpu_why *why)
{
    const char *refusal = refuse(batch);
    if (refusal != NULL) {
        return stk_gpu_why_say(why, STK_GPU_ARGUMENT, "%s", refusal);
    }
    int error = stk_gpu_enter(gpu, why);
    return error != STK_GPU_OK ? error : stk_gpu_leave(gpu, send_inside(gpu, batch, number, why));
}

/* ---- afterwards ---- */

/* From the oldest on: a copy does not end before the one that was begun before it. */
static int collect_inside(struct stk_gpu *gpu, struct stk_gpu_why *why)
{
    int held = 0, error = STK_GPU_OK;
    for (uint64_t i = 0; i < STK_GPU_LANES; i++) {
        struct stk_gpu_lane *lane = &gpu->lanes[(gpu->sent + i) % STK_GPU_LANES];
        int state = held == 0 ? stk_gpu_lane_poll(gpu, lane, why) : lane->is_held;
        error = state < 0 ? state : error;
        held += state > 0;
    }
    return error != STK_GPU_OK ? error : held;
}

int stk_gpu_collect(struct stk_gpu *gpu, struct stk_gpu_why *why)
{
    int error = stk_gpu_enter(gpu, why);
    return error != STK_GPU_OK ? error : stk_gpu_leave(gpu, collect_inside(gpu, why));
}

/* Has a stream wait for a batch, or waits here. */
static int await(struct stk_gpu *gpu, uint64_t number, bool here, void *stream,
                 struct stk_gpu_why *why)
{
    if (number == 0 || number > gpu->sent) {
        return stk_gpu_why_say(why, STK_GPU_ARGUMENT, "there is no batch of that number");
    }
    int error = stk_gpu_enter(gpu, why);
    if (error != STK_GPU_OK) {
        return error;
    }
    /* A later batch may have its lane now: when that is out, so is it. */
    void *out = gpu->lanes[(number - 1) % STK_GPU_LANES].out;
    error = here ? stk_gpu_break(gpu, gpu->driver->event_synchronize(out), "wait for a batch", why)
                 : stk_gpu_break(gpu, gpu->driver->stream_wait_event(stream, out, 0),
                                 "have a stream wait", why);
    return stk_gpu_leave(gpu, error);
}

int stk_gpu_follow(struct stk_gpu *gpu, uint64_t number, void *stream, struct stk_gpu_why *why)
{
    return await(gpu, number, false, stream, why);
}

int stk_gpu_wait(struct stk_gpu *gpu, uint64_t number, struct stk_gpu_why *why)
{
    return await(gpu, number, true, NULL, why);
}
