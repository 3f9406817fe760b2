#include "gpu/context.h"

int stk_gpu_lane_begin(struct stk_gpu *gpu, struct stk_gpu_lane *lane, struct stk_gpu_why *why)
{
    int result = gpu->driver->event_create(&lane->left, STK_CUDA_EVENT_PLAIN);
    result = result != 0 ? result : gpu->driver->event_create(&lane->out, STK_CUDA_EVENT_PLAIN);
    return stk_gpu_refused(gpu, result, "make an event", why);
}

static void let_go(struct stk_gpu_lane *lane)
{
    if (lane->is_held) {
        lane->is_held = false;
        if (lane->let_go != NULL) {
            lane->let_go(lane->holder);
        }
    }
}

int stk_gpu_lane_drain(struct stk_gpu *gpu, struct stk_gpu_lane *lane, struct stk_gpu_why *why)
{
    int result = lane->is_held ? gpu->driver->event_synchronize(lane->left) : 0;
    int error = stk_gpu_break(gpu, result, "wait for a copy", why);
    let_go(lane);
    return error;
}

int stk_gpu_lane_poll(struct stk_gpu *gpu, struct stk_gpu_lane *lane, struct stk_gpu_why *why)
{
    int result = lane->is_held ? gpu->driver->event_query(lane->left) : 0;
    if (result == STK_CUDA_NOT_READY) {
        return 1;
    }
    int error = stk_gpu_break(gpu, result, "ask after a copy", why);
    let_go(lane);
    return error;
}

/* ---- its memory ---- */

/* The addresses and sizes are 0 as soon as there is nothing, whatever fails then. */
static int drop_bytes(struct stk_gpu *gpu, struct stk_gpu_lane *lane)
{
    uint64_t at = lane->bytes_at;
    lane->bytes_at = lane->bytes = 0;
    return at == 0 ? 0 : gpu->driver->mem_free(at);
}

static int drop_images(struct stk_gpu *gpu, struct stk_gpu_lane *lane)
{
    uint64_t at = lane->images_at;
    void *told = lane->told;
    lane->images_at = lane->images = 0;
    lane->told = NULL;
    int first = at == 0 ? 0 : gpu->driver->mem_free(at);
    int second = told == NULL ? 0 : gpu->driver->host_free(told);
    return first != 0 ? first : second;
}

void stk_gpu_lane_end(struct stk_gpu *gpu, struct stk_gpu_lane *lane)
{
    drop_bytes(gpu, lane);
    drop_images(gpu, lane);
    stk_gpu_if_made(gpu->driver->event_destroy, lane->left);
    stk_gpu_if_made(gpu->driver->event_destroy, lane->out);
}

#define STEP_BYTES  ((size_t)1 << 18)
#define STEP_IMAGES ((size_t)64)

static size_t rounded(size_t count, size_t step)
{
    return (count + step - 1) / step * step;
}

static int grow_bytes(struct stk_gpu *gpu, struct stk_gpu_lane *lane, size_t bytes)
{
    unsigned long long at = 0;
    int result = drop_bytes(gpu, lane);
    result = result != 0 ? result : gpu->driver->mem_alloc(&at, rounded(bytes, STEP_BYTES));
    if (result == 0) {
        lane->bytes_at = at;
        lane->bytes = rounded(bytes, STEP_BYTES);
    }
    return result;
}

static int grow_images(struct stk_gpu *gpu, struct stk_gpu_lane *lane, size_t images)
{
    unsigned long long at = 0;
    void *told = NULL;
    size_t bytes = rounded(images, STEP_IMAGES) * sizeof(struct stk_gpu_image);
    int result = drop_images(gpu, lane);
    result = result != 0 ? result : gpu->driver->mem_alloc(&at, bytes);
    lane->images_at = result == 0 ? at : 0;
    result = result != 0 ? result : gpu->driver->host_alloc(&told, bytes, 0);
    if (result == 0) {
        lane->told = told;
        lane->images = rounded(images, STEP_IMAGES);
    }
    return result;
}

/* Waits for the lane's last batch before its memory is dropped. */
int stk_gpu_lane_grow(struct stk_gpu *gpu, struct stk_gpu_lane *lane, size_t bytes, size_t images,
                      struct stk_gpu_why *why)
{
    if (bytes <= lane->bytes && images <= lane->images) {
        return STK_GPU_OK;
    }
    int result = lane->number == 0 ? 0 : gpu->driver->event_synchronize(lane->out);
    if (result != 0) {
        return stk_gpu_break(gpu, result, "wait for a batch", why);
    }
    if (bytes > lane->bytes) {
        result = grow_bytes(gpu, lane, bytes);
    }
    if (result == 0 && images > lane->images) {
        result = grow_images(gpu, lane, images);
    }
    return stk_gpu_refused(gpu, result, "take memory of the GPU for a batch", why);
}
