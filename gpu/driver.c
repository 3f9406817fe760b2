#include "gpu/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define LIBRARY "libcuda.so.1"

static struct stk_gpu_driver found;
static bool is_found;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The calls by their names. */
static const struct {
    const char *symbol;
    size_t offset; /* of the pointer in `found` */
} calls[] = {
#define CALL(name, symbol, parameters) {#symbol, offsetof(struct stk_gpu_driver, name)},
#include "gpu/calls.def"
#undef CALL
};

static int find_calls(void *library, struct stk_gpu_why *why)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        void *call = dlsym(library, calls[i].symbol);
        if (call == NULL) {
            return stk_gpu_why_say(why, STK_GPU_NONE, "the NVIDIA driver is too old: no %s",
                                   calls[i].symbol);
        }
        memcpy((char *)&found + calls[i].offset, &call, sizeof call);
    }
    return STK_GPU_OK;
}

static int check_version(struct stk_gpu_why *why)
{
    int version = 0, result = found.driver_get_version(&version);
    if (result != 0) {
        stk_gpu_driver_failed(&found, result, "ask the NVIDIA driver for its version", why);
        return why->error = STK_GPU_NONE;
    }
    if (version < STK_GPU_DRIVER_LEAST) {
        return stk_gpu_why_say(why, STK_GPU_NONE,
                               "the NVIDIA driver is too old: it is for CUDA %d.%d, and %d.%d is "
                               "the least",
                               version / 1000, version % 1000 / 10, STK_GPU_DRIVER_LEAST / 1000,
                               STK_GPU_DRIVER_LEAST % 1000 / 10);
    }
    return STK_GPU_OK;
}

/* A loaded library stays: it is not known what a driver leaves behind when it is unloaded. */
static int find(struct stk_gpu_why *why)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        return stk_gpu_why_say(why, STK_GPU_NONE, "no NVIDIA driver: %s", dlerror());
    }
    int error = find_calls(library, why);
    return error != STK_GPU_OK ? error : check_version(why);
}

const struct stk_gpu_driver *stk_gpu_driver_find(struct stk_gpu_why *why)
{
    pthread_mutex_lock(&lock);
    is_found = is_found || find(why) == STK_GPU_OK;
    const struct stk_gpu_driver *driver = is_found ? &found : NULL;
    pthread_mutex_unlock(&lock);
    return driver;
}

int stk_gpu_driver_failed(const struct stk_gpu_driver *driver, int result, const char *what,
                          struct stk_gpu_why *why)
{
    const char *name = NULL;
    if (driver->get_error_name(result, &name) != 0 || name == NULL) {
        name = "an unknown error";
    }
    bool is_memory = result == STK_CUDA_OUT_OF_MEMORY;
    int error = stk_gpu_why_say(why, is_memory ? STK_GPU_MEMORY : STK_GPU_FAILED,
                                "cannot %s: %s (%d)", what, name, result);
    why->result = result;
    return error;
}
