/* Memory of this process that the driver has locked. See gpu/gpu.h. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "gpu/context.h"
#include "base/least.h"

#define FOR_ALL_CONTEXTS 1U

/* ---- in chunks ---- */

/* Unlocks the first so many bytes, which chunks were locked of: the first error, and goes on. */
static int unlock(struct stk_gpu *gpu, const struct stk_gpu_pin *pin, size_t bytes)
{
    int first = 0;
    for (size_t at = 0; at < bytes; at += gpu->chunk_bytes) {
        int result = gpu->driver->host_unregister(pin->memory + at);
        first = first != 0 ? first : result;
    }
    return first;
}

/* All of it, or nothing: then the driver's error. */
static int lock(struct stk_gpu *gpu, const struct stk_gpu_pin *pin)
{
    for (size_t at = 0; at < pin->bytes; at += gpu->chunk_bytes) {
        size_t bytes = stk_least(gpu->chunk_bytes, pin->bytes - at);
        int result = gpu->driver->host_register(pin->memory + at, bytes, FOR_ALL_CONTEXTS);
        if (result != 0) {
            unlock(gpu, pin, at);
            return result;
        }
    }
    return 0;
}

/* ---- why it may fail ---- */

static size_t pinned_bytes(const struct stk_gpu *gpu)
{
    size_t bytes = 0;
    for (const struct stk_gpu_pin *pin = gpu->pins; pin != NULL; pin = pin->next) {
        bytes += pin->bytes;
    }
    return bytes;
}

/* The limit is what it is in containers most of the time: 64 KB to 8 MB. */
static void explain(const struct stk_gpu *gpu, size_t bytes, struct stk_gpu_why *why)
{
    struct rlimit limit;
    struct stk_gpu_why reason = *why;
    bool has_limit = getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    if (has_limit) {
        stk_gpu_why_say(
            why, reason.error,
            "%.160s. %zu KiB were to be locked and %zu KiB are already; this process "
            "may lock %llu KiB (RLIMIT_MEMLOCK: raise it by `ulimit -l unlimited`, in a "
            "container by `--ulimit memlock=-1`)",
            reason.text, bytes >> 10, pinned_bytes(gpu) >> 10,
            (unsigned long long)limit.rlim_cur >> 10);
    } else {
        stk_gpu_why_say(why, reason.error,
                        "%.160s. %zu KiB were to be locked and %zu KiB are already; the limit "
                        "(RLIMIT_MEMLOCK) is none, so the machine's memory or its control group's "
                        "is at its end",
                        reason.text, bytes >> 10, pinned_bytes(gpu) >> 10);
    }
    why->result = reason.result;
}

/* Notes why the driver did not lock memory: a limit may be the cause, or something else. */
static int refuse(struct stk_gpu *gpu, int result, size_t bytes, struct stk_gpu_why *why)
{
    switch (result) {
    case STK_CUDA_ALREADY_LOCKED:
        return stk_gpu_why_say(why, STK_GPU_ARGUMENT, "some of this memory is locked already");
    case STK_CUDA_OUT_OF_MEMORY:
    case STK_CUDA_OPERATING_SYSTEM:
    case STK_CUDA_NOT_PERMITTED:
        stk_gpu_refused(gpu, result, "lock memory for the GPU", why);
        why->error = STK_GPU_MEMORY;
        explain(gpu, bytes, why);
        return STK_GPU_MEMORY;
    default:
        return stk_gpu_break(gpu, result, "lock memory for the GPU", why);
    }
}

/* ---- pinning ---- */

static int pin_inside(struct stk_gpu *gpu, struct stk_gpu_pin *pin, struct stk_gpu_why *why)
{
    int result = lock(gpu, pin);
    if (result == 0) {
        pin->next = gpu->pins;
        gpu->pins = pin;
        return STK_GPU_OK;
    }
    size_t bytes = pin->bytes;
    free(pin);
    return refuse(gpu, result, bytes, why);
}

int stk_gpu_pin(struct stk_gpu *gpu, void *memory, size_t bytes, struct stk_gpu_why *why)
{
    int error = stk_gpu_enter(gpu, why);
    if (error != STK_GPU_OK) {
        return error;
    }
    struct stk_gpu_pin *pin = malloc(sizeof *pin);
    if (pin == NULL) {
        return stk_gpu_leave(gpu, stk_gpu_why_say(why, STK_GPU_MEMORY, "no memory"));
    }
    *pin = (struct stk_gpu_pin){memory, bytes, NULL};
    return stk_gpu_leave(gpu, pin_inside(gpu, pin, why));
}

static int unpin_inside(struct stk_gpu *gpu, struct stk_gpu_pin **at, struct stk_gpu_why *why)
{
    int error = STK_GPU_OK;
    for (int i = 0; i < STK_GPU_LANES && error == STK_GPU_OK; i++) {
        error = stk_gpu_lane_drain(gpu, &gpu->lanes[i], why);
    }
    struct stk_gpu_pin *pin = *at;
    int result = unlock(gpu, pin, pin->bytes);
    *at = pin->next;
    free(pin);
    return error != STK_GPU_OK ? error : stk_gpu_break(gpu, result, "unlock memory", why);
}

int stk_gpu_unpin(struct stk_gpu *gpu, void *memory, struct stk_gpu_why *why)
{
    int error = stk_gpu_enter(gpu, why);
    if (error != STK_GPU_OK) {
        return error;
    }
    struct stk_gpu_pin **at = &gpu->pins;
    while (*at != NULL && (*at)->memory != memory) {
        at = &(*at)->next;
    }
    if (*at == NULL) {
        return stk_gpu_leave(gpu, stk_gpu_why_say(why, STK_GPU_ARGUMENT, "this is not pinned"));
    }
    return stk_gpu_leave(gpu, unpin_inside(gpu, at, why));
}

void stk_gpu_pin_unlock(struct stk_gpu *gpu)
{
    for (const struct stk_gpu_pin *pin = gpu->pins; pin != NULL; pin = pin->next) {
        unlock(gpu, pin, pin->bytes);
    }
}

size_t stk_gpu_pin_reach(const struct stk_gpu *gpu, const unsigned char *from, size_t bytes)
{
    for (const struct stk_gpu_pin *pin = gpu->pins; pin != NULL; pin = pin->next) {
        if (from >= pin->memory && from < pin->memory + pin->bytes) {
            size_t at = (size_t)(from - pin->memory);
            size_t chunk = gpu->chunk_bytes - at % gpu->chunk_bytes;
            return stk_least(bytes, stk_least(chunk, pin->bytes - at));
        }
    }
    return bytes;
}
