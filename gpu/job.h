/*
 * What the kernel is told: the same bytes for the device and for this processor.
 */
#ifndef STK_GPU_JOB_H
#define STK_GPU_JOB_H

#include <stdint.h>

#define STK_GPU_THREADS  256U   /* of a block */
#define STK_GPU_CHANNELS 3U     /* at most */
#define STK_GPU_PACKET   16U    /* bytes that a thread stores at once, where they are aligned so */
#define STK_GPU_SIDE     65535U /* of an image, at most; and images of a batch */

enum stk_gpu_type { STK_GPU_F32, STK_GPU_F16, STK_GPU_BF16 };
enum stk_gpu_layout { STK_GPU_NCHW, STK_GPU_NHWC };

/* Where an image lies (bytes, the channels of a pixel side by side), and what is wanted of it: a
 * window, which may reach beyond its edges, flipped or not. */
struct stk_gpu_image {
    uint64_t pixels;        /* the address of the first */
    uint32_t width, height; /* in pixels */
    uint32_t stride;        /* bytes from one row to the next */
    int32_t left, top;      /* of the window, from the image's first pixel */
    uint32_t flip;          /* 0, or 1: left and right are exchanged */
};

/* One launch. */
struct stk_gpu_job {
    uint64_t images, out;   /* addresses: of so many images, and of what comes out */
    uint32_t count;         /* of images */
    uint32_t width, height; /* of each window */
    uint8_t fill[4];        /* what lies beyond an image's edges, for each channel */
    float mean[STK_GPU_CHANNELS], std[STK_GPU_CHANNELS];
    float inverse[STK_GPU_CHANNELS]; /* 1 / std, or all of them 0: see gpu/plan.c */
    uint32_t planes;                 /* so many images of one channel are one: gpu/plan.h */
};

#endif
