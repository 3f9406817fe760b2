/* The resources of a batch on its way to the device. */
#pragma once

#include "gpu/context.h"

/* Makes a lane's events; frees all that a lane has. */
int stk_gpu_lane_begin(struct stk_gpu *gpu, struct stk_gpu_lane *lane, struct stk_gpu_why *why);
void stk_gpu_lane_end(struct stk_gpu *gpu, struct stk_gpu_lane *lane);
/* Waits until the lane's batch is copied, and lets go of it. */
int stk_gpu_lane_drain(struct stk_gpu *gpu, struct stk_gpu_lane *lane, struct stk_gpu_why *why);
/* Lets go of the lane's batch if it is copied. Returns 1 if it is not, 0 if it is, or an error. */
int stk_gpu_lane_poll(struct stk_gpu *gpu, struct stk_gpu_lane *lane, struct stk_gpu_why *why);
/* Makes room for so many bytes and images. */
int stk_gpu_lane_grow(struct stk_gpu *gpu, struct stk_gpu_lane *lane, size_t bytes, size_t images,
                      struct stk_gpu_why *why);
