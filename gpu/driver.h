/*
 * NVIDIA's driver, looked for when it is first wanted: nothing of CUDA's is linked or needed to
 * build, and there is no trace of it where nobody asks for a device. Only the driver's own
 * interface is used: what fails there stays between the driver and us, while the runtime would keep
 * the error for the program that we are in.
 */
#ifndef STK_GPU_DRIVER_H
#define STK_GPU_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "gpu/why.h"

/* The driver's calls; each gives 0 or one of its errors. */
struct stk_gpu_driver {
#define CALL(name, symbol, parameters) int(*name) parameters;
#include "gpu/calls.def"
#undef CALL
};

/* What of the driver's results and numbers we know by name. */
enum {
    STK_CUDA_OUT_OF_MEMORY = 2,
    STK_CUDA_NOT_INITIALIZED = 3,
    STK_CUDA_NO_DEVICE = 100,
    STK_CUDA_OPERATING_SYSTEM = 304,
    STK_CUDA_NOT_READY = 600,
    STK_CUDA_ALREADY_LOCKED = 712,
    STK_CUDA_NOT_PERMITTED = 800,
};

/* The oldest driver that can take the kernel, by its PTX: CUDA 10.0, as 1000 x major + 10 x minor.
 */
#define STK_GPU_DRIVER_LEAST 10000

/*
 * The driver, or NULL with the reason. It is looked for anew until it was found once, and then
 * stays for the rest of the process. Safe in threads.
 */
const struct stk_gpu_driver *stk_gpu_driver_find(struct stk_gpu_why *why);

/* Notes that a call failed: "cannot DO: NAME_OF_THE_ERROR". Its result is negative. */
int stk_gpu_driver_failed(const struct stk_gpu_driver *driver, int result, const char *what,
                          struct stk_gpu_why *why);

#endif
