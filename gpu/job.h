/* The kernel's arguments: equal bytes for the device and for this processor. */
#pragma once

#include <stdint.h>

#define STK_GPU_THREADS  256U   /* of a block */
#define STK_GPU_CHANNELS 3U     /* at most */
#define STK_GPU_PACKET   16U    /* bytes that a thread stores at once, if they are aligned */
#define STK_GPU_SIDE     65535U /* of an image, at most; and images of a batch */

enum stk_gpu_type { STK_GPU_F32, STK_GPU_F16, STK_GPU_BF16 };
enum stk_gpu_layout { STK_GPU_NCHW, STK_GPU_NHWC };

/* An image's bytes, with the channels of a pixel side by side, and the window that is wanted. The
 * window may reach beyond the image's edges, and may be flipped. */
struct stk_gpu_image {
    uint64_t pixels;        /* the address of the first */
    uint32_t width, height; /* in pixels */
    uint32_t stride;        /* bytes from one row to the next */
    int32_t left, top;      /* of the window, from the image's first pixel */
    uint32_t flip;          /* 1: left and right are exchanged; else 0 */
};

/* One launch. */
struct stk_gpu_job {
    uint64_t images, out;   /* addresses: of the images, and of the results */
    uint32_t count;         /* of images */
    uint32_t width, height; /* of each window */
    uint8_t fill[4];        /* the pixel beyond an image's edges, by channel */
    float mean[STK_GPU_CHANNELS], std[STK_GPU_CHANNELS];
    /* Their sum is 1 / std, to twice the digits of a float; or all of them are 0: see gpu/plan.c */
    float inverse[STK_GPU_CHANNELS], rest[STK_GPU_CHANNELS];
    uint32_t planes; /* images of one channel that make up one image: gpu/plan.h */
};
