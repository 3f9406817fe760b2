/*
 * NVIDIA's nvJPEG, loaded at its first use, as the driver is (gpu/driver.h): nothing of it is
 * linked or needed to build. It is no part of the driver; it comes with the CUDA toolkit, and as a
 * package of PyPI.
 */
#ifndef STK_GPU_NVJPEG_H
#define STK_GPU_NVJPEG_H

#include <stdbool.h>
#include <stddef.h>

#include "gpu/why.h"

#define STK_NVJPEG_PLANES 4

/* The memory of an image's planes, in nvJPEG's own layout. */
struct stk_nvjpeg_image {
    unsigned char *channel[STK_NVJPEG_PLANES]; /* addresses of the device */
    size_t pitch[STK_NVJPEG_PLANES];           /* bytes from row to row */
};

/* The library's calls; each returns 0 or one of its errors. */
struct stk_gpu_nvjpeg {
#define CALL(name, symbol, parameters) int(*name) parameters;
#include "gpu/nvjpeg.def"
#undef CALL
};

/* The library's numbers that are used here. */
enum {
    STK_NVJPEG_INVALID_PARAMETER = 2,
    STK_NVJPEG_BAD_JPEG = 3,
    STK_NVJPEG_NOT_SUPPORTED = 4,
    STK_NVJPEG_ALLOCATOR_FAILURE = 5,
    STK_NVJPEG_INCOMPLETE = 10,

    STK_NVJPEG_GPU_HYBRID = 2, /* back ends */
    STK_NVJPEG_HARDWARE = 3,

    STK_NVJPEG_RGB = 3, /* output: three planes */

    STK_NVJPEG_MAJOR = 0, /* properties */
    STK_NVJPEG_MINOR = 1,
};

/* Loads the library of this name or path, which stays loaded. Returns STK_GPU_NONE, with the
 * reason, if it cannot be used. Thread-safe. */
int stk_gpu_nvjpeg_find(struct stk_gpu_nvjpeg *out, const char *library, struct stk_gpu_why *why);

/* Notes that a call failed: "nvJPEG cannot DO: NAME_OF_THE_ERROR". Returns a negative error. */
int stk_gpu_nvjpeg_failed(int result, const char *what, struct stk_gpu_why *why);

/* Returns true if an error is that of one image, which another decoder may read. */
bool stk_gpu_nvjpeg_is_of_image(int result);

#endif
