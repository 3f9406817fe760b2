/*
 * Decodes JPEGs on the device by nvJPEG, for programs that would rather spend the device's time
 * than the processor's. The pixels are not those of libjpeg: docs/gpu.md says by how much they
 * differ.
 *
 * The decoder belongs to an open device (gpu/gpu.h) and follows its rules for threads, forks and
 * errors.
 */
#ifndef STK_GPU_JPEGS_H
#define STK_GPU_JPEGS_H

#include <stdbool.h>

#include "gpu/gpu.h"

struct stk_gpu_jpegs;

/* Opens the first of these libraries (names or paths, then NULL) that works with this device: by
 * the JPEG engine if there is one, else by kernels. Returns STK_GPU_NONE, with the reason, if none
 * works. */
int stk_gpu_jpegs_open(struct stk_gpu_jpegs **out, struct stk_gpu *gpu,
                       const char *const *libraries, struct stk_gpu_why *why);

/* Waits for batches that are under way, and frees everything. Call it before the device is closed.
 * NULL is fine. */
void stk_gpu_jpegs_close(struct stk_gpu_jpegs *jpegs);

/* Returns a name such as "nvJPEG 13.3, by the JPEG engine". */
const char *stk_gpu_jpegs_name(const struct stk_gpu_jpegs *jpegs);

struct stk_gpu_jpeg {
    const unsigned char *bytes; /* of this process */
    size_t size;
    uint32_t width, height; /* nvJPEG must find this size in the bytes */
    uint64_t out;  /* of the device: a plane of red, of green and of blue, height x width each */
    bool is_begun; /* set by the call */
};

/*
 * Begins to decode images on the stream, after earlier work there. Images that nvJPEG does not take
 * are not begun: another decoder must take them. Whatever the call returns, the bytes must stay
 * unchanged until its work on the stream has ended. The call waits for the batch of the call
 * before.
 */
int stk_gpu_jpegs_decode(struct stk_gpu_jpegs *jpegs, struct stk_gpu_jpeg *images, size_t count,
                         void *stream, struct stk_gpu_why *why);

#endif
