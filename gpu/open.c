/* An open device: beginning and ending. See gpu/gpu.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "gpu/context.h"
#include "gpu/image.h"

#define ATTRIBUTE_MAJOR 75
#define ATTRIBUTE_MINOR 76
#define NON_BLOCKING    1U /* a stream that does not wait for the default one */

/* ---- finding the device ---- */

static int begin_driver(const struct stk_gpu_driver *driver, struct stk_gpu_why *why)
{
    int result = driver->init(0);
    if (result == 0) {
        return STK_GPU_OK;
    }
    if (result == STK_CUDA_NO_DEVICE) {
        return stk_gpu_why_say(why, STK_GPU_NONE, "no GPU: the NVIDIA driver finds none");
    }
    if (result == STK_CUDA_NOT_INITIALIZED) {
        return stk_gpu_why_say(
            why, STK_GPU_FORKED,
            "CUDA cannot begin here: it was begun in the process that has forked "
            "this one (start it by spawn, or begin in the child alone)");
    }
    stk_gpu_driver_failed(driver, result, "begin with the NVIDIA driver", why);
    return why->error = STK_GPU_NONE;
}

static int find_device(struct stk_gpu *gpu, int ordinal, struct stk_gpu_why *why)
{
    int count = 0, result = gpu->driver->device_get_count(&count);
    if (result == 0 && (ordinal < 0 || ordinal >= count)) {
        return stk_gpu_why_say(why, STK_GPU_NONE, "there is no GPU %d: there are %d", ordinal,
                               count);
    }
    result = result != 0 ? result : gpu->driver->device_get(&gpu->device, ordinal);
    result = result != 0 ? result
                         : gpu->driver->device_get_name(gpu->name, sizeof gpu->name, gpu->device);
    return stk_gpu_refused(gpu, result, "find the GPU", why);
}

/* PTX is for compute capability 7.5 and all later ones. */
static int check_device(struct stk_gpu *gpu, struct stk_gpu_why *why)
{
    int major = 0, minor = 0;
    int result = gpu->driver->device_get_attribute(&major, ATTRIBUTE_MAJOR, gpu->device);
    result = result != 0 ? result
                         : gpu->driver->device_get_attribute(&minor, ATTRIBUTE_MINOR, gpu->device);
    if (result != 0) {
        return stk_gpu_refused(gpu, result, "ask what the GPU can do", why);
    }
    if (major * 10 + minor < 75) {
        return stk_gpu_why_say(why, STK_GPU_NONE,
                               "%s has compute capability %d.%d, and 7.5 is the least", gpu->name,
                               major, minor);
    }
    return STK_GPU_OK;
}

/* ---- the kernel ---- */

static const struct {
    const char *name;
    enum stk_gpu_type type;
    enum stk_gpu_layout layout;
    unsigned channels;
} entries[] = {
#define ENTRY(name, type, layout, channels) {#name, type, layout, channels},
#include "gpu/entries.def"
#undef ENTRY
};

/* An older driver than the machine code's cannot take it along with the PTX. */
static int load_module(struct stk_gpu *gpu, struct stk_gpu_why *why)
{
    int result = gpu->driver->module_load_data(&gpu->module, stk_gpu_fatbin);
    if (result != 0 && result != STK_CUDA_OUT_OF_MEMORY) {
        result = gpu->driver->module_load_data(&gpu->module, stk_gpu_ptx);
    }
    return stk_gpu_refused(gpu, result, "load the kernel", why);
}

static int find_functions(struct stk_gpu *gpu, struct stk_gpu_why *why)
{
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void **function =
            &gpu->functions[entries[i].type][entries[i].layout][entries[i].channels == 3];
        int result = gpu->driver->module_get_function(function, gpu->module, entries[i].name);
        if (result != 0) {
            return stk_gpu_refused(gpu, result, "find the kernel", why);
        }
    }
    return STK_GPU_OK;
}

/* ---- streams and events ---- */

static int begin_streams(struct stk_gpu *gpu, struct stk_gpu_why *why)
{
    int result = gpu->driver->stream_create(&gpu->copies, NON_BLOCKING);
    result = result != 0 ? result : gpu->driver->stream_create(&gpu->work, NON_BLOCKING);
    result = result != 0 ? result : gpu->driver->event_create(&gpu->before, STK_CUDA_EVENT_PLAIN);
    return stk_gpu_refused(gpu, result, "make a stream", why);
}

static int begin_lanes(struct stk_gpu *gpu, struct stk_gpu_why *why)
{
    int error = STK_GPU_OK;
    for (int i = 0; i < STK_GPU_LANES && error == STK_GPU_OK; i++) {
        error = stk_gpu_lane_begin(gpu, &gpu->lanes[i], why);
    }
    return error;
}

static int begin_inside(struct stk_gpu *gpu, struct stk_gpu_why *why)
{
    int error = load_module(gpu, why);
    error = error != STK_GPU_OK ? error : find_functions(gpu, why);
    error = error != STK_GPU_OK ? error : begin_streams(gpu, why);
    return error != STK_GPU_OK ? error : begin_lanes(gpu, why);
}

/* ---- ending ---- */

/* The driver's calls here may report earlier errors. They free their object all the same. */
static void end_inside(void *argument)
{
    struct stk_gpu *gpu = argument;
    const struct stk_gpu_driver *driver = gpu->driver;
    struct stk_gpu_why why;
    stk_gpu_if_made(driver->stream_synchronize, gpu->copies);
    stk_gpu_if_made(driver->stream_synchronize, gpu->work);
    for (int i = 0; i < STK_GPU_LANES; i++) {
        stk_gpu_lane_drain(gpu, &gpu->lanes[i], &why);
        stk_gpu_lane_end(gpu, &gpu->lanes[i]);
    }
    stk_gpu_pin_unlock(gpu);
    stk_gpu_if_made(driver->event_destroy, gpu->before);
    stk_gpu_if_made(driver->stream_destroy, gpu->work);
    stk_gpu_if_made(driver->stream_destroy, gpu->copies);
    stk_gpu_if_made(driver->module_unload, gpu->module);
}

/* In a child the driver is its parent's, and so is what is held. */
static void forget_pins(struct stk_gpu *gpu)
{
    while (gpu->pins != NULL) {
        struct stk_gpu_pin *next = gpu->pins->next;
        free(gpu->pins);
        gpu->pins = next;
    }
}

void stk_gpu_close(struct stk_gpu *gpu)
{
    if (gpu == NULL) {
        return;
    }
    if (gpu->context != NULL && !stk_gpu_is_childs(gpu)) {
        stk_gpu_give_back(gpu, end_inside, gpu);
        gpu->driver->primary_release(gpu->device);
    }
    forget_pins(gpu);
    free(gpu);
}

/* ---- beginning ---- */

static int begin_context(struct stk_gpu *gpu, struct stk_gpu_why *why)
{
    int result = gpu->driver->primary_retain(&gpu->context, gpu->device);
    if (result != 0) {
        gpu->context = NULL;
        return stk_gpu_refused(gpu, result, "enter the GPU", why);
    }
    int error = stk_gpu_enter(gpu, why);
    if (error != STK_GPU_OK) {
        return error;
    }
    error = stk_gpu_leave(gpu, begin_inside(gpu, why));
    if (error == STK_GPU_OK && gpu->broken.error != STK_GPU_OK) {
        *why = gpu->broken;
        return why->error;
    }
    return error;
}

static int begin(struct stk_gpu *gpu, int ordinal, struct stk_gpu_why *why)
{
    int error = begin_driver(gpu->driver, why);
    error = error != STK_GPU_OK ? error : find_device(gpu, ordinal, why);
    error = error != STK_GPU_OK ? error : check_device(gpu, why);
    return error != STK_GPU_OK ? error : begin_context(gpu, why);
}

int stk_gpu_open(struct stk_gpu **out, int ordinal, struct stk_gpu_why *why)
{
    *out = NULL;
    if (stk_gpu_fatbin_bytes == 0) {
        return stk_gpu_why_say(why, STK_GPU_NONE,
                               "not built: there was no nvcc, so there is no kernel for a GPU");
    }
    const struct stk_gpu_driver *driver = stk_gpu_driver_find(why);
    if (driver == NULL) {
        return why->error;
    }
    struct stk_gpu *gpu = calloc(1, sizeof *gpu);
    if (gpu == NULL) {
        return stk_gpu_why_say(why, STK_GPU_MEMORY, "no memory");
    }
    gpu->driver = driver;
    gpu->owner = stk_sys_getpid();
    gpu->chunk_bytes = STK_GPU_CHUNK_BYTES;
    int error = begin(gpu, ordinal, why);
    if (error != STK_GPU_OK) {
        stk_gpu_close(gpu);
        return error;
    }
    *out = gpu;
    return STK_GPU_OK;
}

const char *stk_gpu_name(const struct stk_gpu *gpu)
{
    return gpu->name;
}
