/* Around every call: the context is entered and left, and errors are noted. */
#include "gpu/context.h"

#include "base/sys.h"

/* ---- errors ---- */

int stk_gpu_refused(struct stk_gpu *gpu, int result, const char *what, struct stk_gpu_why *why)
{
    return result == 0 ? STK_GPU_OK : stk_gpu_driver_failed(gpu->driver, result, what, why);
}

/* Later calls report the first failure. */
int stk_gpu_break(struct stk_gpu *gpu, int result, const char *what, struct stk_gpu_why *why)
{
    if (result == 0) {
        return STK_GPU_OK;
    }
    stk_gpu_driver_failed(gpu->driver, result, what, why);
    why->error = STK_GPU_FAILED;
    if (gpu->broken.error == STK_GPU_OK) {
        gpu->broken = *why;
    }
    gpu->driver->stream_synchronize(gpu->copies);
    gpu->driver->stream_synchronize(gpu->work);
    return STK_GPU_FAILED;
}

/* ---- around every call ---- */

bool stk_gpu_is_childs(const struct stk_gpu *gpu)
{
    return gpu->owner != stk_sys_getpid();
}

int stk_gpu_enter(struct stk_gpu *gpu, struct stk_gpu_why *why)
{
    if (stk_gpu_is_childs(gpu)) {
        return stk_gpu_why_say(why, STK_GPU_FORKED,
                               "CUDA was begun in process %d, which has forked this one: a child "
                               "cannot use it (start it by spawn, or begin in the child)",
                               (int)gpu->owner);
    }
    if (gpu->broken.error != STK_GPU_OK) {
        *why = gpu->broken;
        return why->error;
    }
    return stk_gpu_break(gpu, gpu->driver->push_current(gpu->context), "enter the device's context",
                         why);
}

/* The call's work is done, so its result stands: the next call reports a failure to leave. */
int stk_gpu_leave(struct stk_gpu *gpu, int result)
{
    void *context;
    struct stk_gpu_why why;
    stk_gpu_break(gpu, gpu->driver->pop_current(&context), "leave the device's context", &why);
    return result;
}

void stk_gpu_give_back(struct stk_gpu *gpu, void (*give)(void *), void *what)
{
    void *context;
    if (stk_gpu_is_childs(gpu)) {
        return;
    }
    bool is_inside = gpu->driver->push_current(gpu->context) == 0;
    give(what);
    if (is_inside) {
        gpu->driver->pop_current(&context);
    }
}
