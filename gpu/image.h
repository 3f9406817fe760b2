/*
 * The kernel as nvcc compiled it, part of this library (gpu.mk): machine code for several devices
 * with PTX for all others, and the PTX alone, for drivers that are older than the machine code.
 * Both are empty if the build had no nvcc.
 */
#pragma once

#include <stddef.h>

extern const unsigned char stk_gpu_fatbin[], stk_gpu_ptx[];
extern const size_t stk_gpu_fatbin_bytes, stk_gpu_ptx_bytes; /* 0: built without nvcc */
