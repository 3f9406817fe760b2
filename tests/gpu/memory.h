/* Memory of the device, as the frameworks take it, for programs of the tests without one. */
#pragma once

#include <dlfcn.h>
#include <string.h>

#include "gpu/context.h"

/* Takes memory of the device, aligned to 256 bytes. */
static inline int take_memory(struct stk_gpu *gpu, size_t bytes, uint64_t *address,
                              struct stk_gpu_why *why)
{
    unsigned long long at = 0;
    *address = 0;
    int error = stk_gpu_enter(gpu, why);
    if (error != STK_GPU_OK) {
        return error;
    }
    int result = gpu->driver->mem_alloc(&at, bytes);
    *address = at;
    error = result == 0 ? STK_GPU_OK : stk_gpu_refused(gpu, result, "take memory of the GPU", why);
    return stk_gpu_leave(gpu, error);
}

static inline int give_memory(struct stk_gpu *gpu, uint64_t address, struct stk_gpu_why *why)
{
    int error = stk_gpu_enter(gpu, why);
    if (error != STK_GPU_OK) {
        return error;
    }
    int result = gpu->driver->mem_free(address);
    error = result == 0 ? STK_GPU_OK : stk_gpu_break(gpu, result, "give memory back", why);
    return stk_gpu_leave(gpu, error);
}

/* Copies from the device to this process, and waits for the copy. */
static inline int fetch_memory(struct stk_gpu *gpu, void *to, uint64_t from, size_t bytes,
                               struct stk_gpu_why *why)
{
    int (*copy)(void *, unsigned long long, size_t);
    void *symbol = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemcpyDtoH_v2");
    memcpy(&copy, &symbol, sizeof copy);
    int error = stk_gpu_enter(gpu, why);
    if (error != STK_GPU_OK) {
        return error;
    }
    int result = copy(to, from, bytes);
    error = result == 0 ? STK_GPU_OK : stk_gpu_break(gpu, result, "copy from the GPU", why);
    return stk_gpu_leave(gpu, error);
}
