/*
 * NVIDIA's driver, loaded at its first use: nothing of CUDA is linked or needed to build, and a
 * process that asks for no device loads nothing. Only the driver's own interface is used. The CUDA
 * runtime would remember an error of ours and report it to the program.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "gpu/why.h"

/* The driver's calls; each returns 0 or one of its errors. */
struct stk_gpu_driver {
#define CALL(name, symbol, parameters) int(*name) parameters;
#include "gpu/calls.def"
#undef CALL
};

/* The driver's results and numbers that are used here. */
enum {
    STK_CUDA_OUT_OF_MEMORY = 2,
    STK_CUDA_NOT_INITIALIZED = 3,
    STK_CUDA_NO_DEVICE = 100,
    STK_CUDA_OPERATING_SYSTEM = 304,
    STK_CUDA_NOT_READY = 600,
    STK_CUDA_ALREADY_LOCKED = 712,
    STK_CUDA_NOT_PERMITTED = 800,
};

/* The oldest driver that can load the kernel's PTX: CUDA 10.0, as 1000 x major + 10 x minor. */
#define STK_GPU_DRIVER_LEAST 10000

/*
 * Returns the driver, or NULL with the reason. Each call looks for it until one finds it; it then
 * stays for the life of the process. Thread-safe.
 */
const struct stk_gpu_driver *stk_gpu_driver_find(struct stk_gpu_why *why);

/* Notes that a call failed: "cannot DO: NAME_OF_THE_ERROR". Returns a negative error. */
int stk_gpu_driver_failed(const struct stk_gpu_driver *driver, int result, const char *what,
                          struct stk_gpu_why *why);
