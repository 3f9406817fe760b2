/*
 * JPEGs decoded by the device, by nvJPEG: what a program asks for who would rather spend the
 * device's time than the processor's. Their pixels are not those of libjpeg: docs/gpu.md says how
 * far off.
 *
 * It belongs to an open device (gpu/gpu.h), whose rules for threads, forks and errors are its own.
 */
#ifndef STK_GPU_JPEGS_H
#define STK_GPU_JPEGS_H

#include <stdbool.h>

#include "gpu/gpu.h"

struct stk_gpu_jpegs;

/* The first of these libraries (names or paths, then NULL) that can be used with this device: by
 * its JPEG engine if it has one, else by its kernels. STK_GPU_NONE: none can, with the
 * reason. */
int stk_gpu_jpegs_open(struct stk_gpu_jpegs **out, struct stk_gpu *gpu,
                       const char *const *libraries, struct stk_gpu_why *why);

/* Waits for what is under way, and gives everything back; before its device is closed. NULL is
 * nothing. */
void stk_gpu_jpegs_close(struct stk_gpu_jpegs *jpegs);

/* "nvJPEG 13.3, by the JPEG engine". */
const char *stk_gpu_jpegs_name(const struct stk_gpu_jpegs *jpegs);

struct stk_gpu_jpeg {
    const unsigned char *bytes; /* of this process */
    size_t size;
    uint32_t width, height; /* which nvJPEG must find as well */
    uint64_t out;  /* of the device: a plane of red, of green and of blue, height x width each */
    bool is_begun; /* said by the call */
};

/*
 * Begins to decode them, on the stream, behind what was begun there. Those that are not begun are
 * for another decoder: nvJPEG does not take them. Their bytes must stay as they are until what the
 * call has begun on the stream has ended, whatever the call says. It waits for what was begun by
 * the one before.
 */
int stk_gpu_jpegs_decode(struct stk_gpu_jpegs *jpegs, struct stk_gpu_jpeg *images, size_t count,
                         void *stream, struct stk_gpu_why *why);

#endif
