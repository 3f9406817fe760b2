#include "gpu/nvjpeg.h"

#include <dlfcn.h>

#include "gpu/calls.h"

static const struct stk_gpu_call calls[] = {
#define CALL(name, symbol, parameters) {#symbol, offsetof(struct stk_gpu_nvjpeg, name)},
#include "gpu/nvjpeg.def"
#undef CALL
};

int stk_gpu_nvjpeg_find(struct stk_gpu_nvjpeg *out, const char *library, struct stk_gpu_why *why)
{
    void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (loaded == NULL) {
        return stk_gpu_why_say(why, STK_GPU_NONE, "no nvJPEG: %s", dlerror());
    }
    const char *missing = stk_gpu_calls_find(loaded, calls, sizeof calls / sizeof *calls, out);
    return missing == NULL ? STK_GPU_OK
                           : stk_gpu_why_say(why, STK_GPU_NONE, "nvJPEG is too old: %s has no %s",
                                             library, missing);
}

/* The library has no call that names them. */
static const char *name_of(int result)
{
    static const char *const names[] = {
        "SUCCESS",
        "NOT_INITIALIZED",
        "INVALID_PARAMETER",
        "BAD_JPEG",
        "NOT_SUPPORTED",
        "ALLOCATOR_FAILURE",
        "EXECUTION_FAILED",
        "ARCH_MISMATCH",
        "INTERNAL_ERROR",
        "IMPLEMENTATION_NOT_SUPPORTED",
        "INCOMPLETE_BITSTREAM",
    };
    bool is_known = result >= 0 && (size_t)result < sizeof names / sizeof *names;
    return is_known ? names[result] : "an unknown error";
}

int stk_gpu_nvjpeg_failed(int result, const char *what, struct stk_gpu_why *why)
{
    bool is_memory = result == STK_NVJPEG_ALLOCATOR_FAILURE;
    return stk_gpu_why_say(why, is_memory ? STK_GPU_MEMORY : STK_GPU_FAILED,
                           "nvJPEG cannot %s: %s (%d)", what, name_of(result), result);
}

bool stk_gpu_nvjpeg_is_of_image(int result)
{
    return result == STK_NVJPEG_BAD_JPEG || result == STK_NVJPEG_NOT_SUPPORTED ||
           result == STK_NVJPEG_INCOMPLETE;
}
