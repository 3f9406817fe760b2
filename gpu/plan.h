/*
 * What becomes of the images of a batch, and doing it on this processor. The device does the same
 * (gpu/gpu.h), with the same results to the last bit.
 *
 * Nothing here allocates, and all of it is safe in threads and after a fork: a plan that is made is
 * only read.
 */
#ifndef STK_GPU_PLAN_H
#define STK_GPU_PLAN_H

#include "gpu/job.h"

#include <stddef.h>

/* What is wanted, for all images of a batch; and what follows from it. */
struct stk_gpu_plan {
    enum stk_gpu_type type;
    enum stk_gpu_layout layout;
    uint32_t channels;      /* 1 or 3 */
    uint32_t width, height; /* of each window, which is what comes out */
    float mean[STK_GPU_CHANNELS], std[STK_GPU_CHANNELS];
    uint8_t fill[STK_GPU_CHANNELS]; /* what lies beyond an image's edges */
    /* Images whose channels do not lie side by side are told of as images of one channel, one
     * behind the other, which take turns with mean, std and fill: so many. 0 is 1. */
    uint32_t planes;
    /* Of stk_gpu_plan_finish(). */
    float inverse[STK_GPU_CHANNELS];
    uint32_t numbers[STK_GPU_CHANNELS][256]; /* what each byte becomes, as the type's bits */
};

/* Fills in what follows. NULL, or what is wrong with the plan, as a sentence's end. */
const char *stk_gpu_plan_finish(struct stk_gpu_plan *plan);

/* NULL, or what is wrong with these images (each for itself: whether its bytes are there is the
 * caller's to know). */
const char *stk_gpu_plan_refuse(const struct stk_gpu_plan *plan, const struct stk_gpu_image *images,
                                size_t count);

/* The same, if one of them does not lie within so many bytes from that address on. */
const char *stk_gpu_plan_refuse_outside(const struct stk_gpu_plan *plan,
                                        const struct stk_gpu_image *images, size_t count,
                                        uint64_t begin, size_t bytes);

/* Bytes from an image's first to behind its last. */
size_t stk_gpu_image_bytes(const struct stk_gpu_plan *plan, const struct stk_gpu_image *image);

/* Bytes that come out of so many images. */
size_t stk_gpu_plan_bytes(const struct stk_gpu_plan *plan, size_t count);

/* The kernel's job; `images` and `out` are addresses where it will run. */
struct stk_gpu_job stk_gpu_plan_job(const struct stk_gpu_plan *plan, uint64_t images, size_t count,
                                    uint64_t out);

/*
 * Does it here, for the images from `first` to before `last`. `out` is where the whole batch goes,
 * so that threads of the caller's may do a part of it each; aligned for its type. The images must
 * not have been refused.
 */
void stk_gpu_plan_run(const struct stk_gpu_plan *plan, const struct stk_gpu_image *images,
                      size_t first, size_t last, void *out);

#endif
