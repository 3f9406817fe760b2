/*
 * The plan of a batch: which numbers its images become, and computing them on this processor. The
 * device (gpu/gpu.h) gives equal results to the last bit.
 *
 * Nothing here allocates. Safe in threads and after a fork: a finished plan is only read.
 */
#pragma once

#include "gpu/job.h"

#include <stddef.h>

/* The request for all images of a batch, and the tables that follow from it. */
struct stk_gpu_plan {
    enum stk_gpu_type type;
    enum stk_gpu_layout layout;
    uint32_t channels;      /* 1 or 3 */
    uint32_t width, height; /* of each window, and so of each result */
    float mean[STK_GPU_CHANNELS], std[STK_GPU_CHANNELS];
    uint8_t fill[STK_GPU_CHANNELS]; /* the pixel beyond an image's edges */
    /* An image whose channels do not lie side by side is given as so many images of one channel,
     * one behind the other, which take turns with mean, std and fill. 0 is 1. */
    uint32_t planes;
    /* Made by stk_gpu_plan_finish(). */
    float inverse[STK_GPU_CHANNELS], rest[STK_GPU_CHANNELS];
    uint32_t numbers[STK_GPU_CHANNELS][256]; /* the result of each byte, as the type's bits */
};

/* Makes the plan's tables. Returns NULL, or the plan's fault as the end of a sentence. */
const char *stk_gpu_plan_finish(struct stk_gpu_plan *plan);

/* Returns NULL, or the fault of one of these images. The caller must know itself that the bytes of
 * each image are there. */
const char *stk_gpu_plan_refuse(const struct stk_gpu_plan *plan, const struct stk_gpu_image *images,
                                size_t count);

/* Returns a fault also if an image does not lie within so many bytes from that address on. */
const char *stk_gpu_plan_refuse_outside(const struct stk_gpu_plan *plan,
                                        const struct stk_gpu_image *images, size_t count,
                                        uint64_t begin, size_t bytes);

/* Returns the bytes from an image's first to its last. */
size_t stk_gpu_image_bytes(const struct stk_gpu_plan *plan, const struct stk_gpu_image *image);

/* Returns the bytes of the results of so many images. */
size_t stk_gpu_plan_bytes(const struct stk_gpu_plan *plan, size_t count);

/* Makes the kernel's job; `images` and `out` are addresses on the machine where it will run. */
struct stk_gpu_job stk_gpu_plan_job(const struct stk_gpu_plan *plan, uint64_t images, size_t count,
                                    uint64_t out);

/*
 * Computes the images from `first` to before `last` on this processor. `out` is the memory of the
 * whole batch, aligned for its type, so threads of the caller may compute a part each. The images
 * must not have been refused.
 */
void stk_gpu_plan_run(const struct stk_gpu_plan *plan, const struct stk_gpu_image *images,
                      size_t first, size_t last, void *out);
