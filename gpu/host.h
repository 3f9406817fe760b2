/* The operations that gpu/kernel.h needs, for this processor; includes the kernel. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "gpu/job.h"

#define STK_GPU_CODE static inline __attribute__((always_inline, unused))
#define STK_GPU_UNROLL

STK_GPU_CODE float stk_gpu_fma(float a, float b, float c)
{
    return fmaf(a, b, c);
}

STK_GPU_CODE uint32_t stk_gpu_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Drops the last bits of a number: to the nearest, to even where two are as near. */
STK_GPU_CODE uint32_t stk_gpu_drop(uint32_t number, uint32_t bits)
{
    return (number + (1U << (bits - 1U)) - 1U + (number >> bits & 1U)) >> bits;
}

/* Equal to the device's own instruction. A number that rounds up to the next power of two carries
 * into the exponent by itself. */
STK_GPU_CODE uint32_t stk_gpu_to_f16(float value)
{
    uint32_t bits = stk_gpu_bits(value), sign = bits >> 16 & 0x8000U, size = bits & 0x7fffffffU;
    if (size > 0x7f800000U) {
        return 0x7fffU; /* no number */
    }
    if (size >= 0x477ff000U) {
        return sign | 0x7c00U; /* beyond the largest */
    }
    if (size >= 0x38800000U) {
        return sign | stk_gpu_drop(size - 0x38000000U, 13U);
    }
    uint32_t exponent = size >> 23, shift = 126U - exponent;
    if (shift > 24U) {
        return sign; /* nearer to 0 than to the smallest */
    }
    return sign | stk_gpu_drop((size & 0x7fffffU) | 0x800000U, shift);
}

STK_GPU_CODE float stk_gpu_byte(uint32_t word, uint32_t which)
{
    return (float)(word >> which * 8U & 255U);
}

STK_GPU_CODE uint32_t stk_gpu_to_bf16(float value)
{
    return stk_gpu_drop(stk_gpu_bits(value), 16U);
}

/* Two numbers of 16 bits, the first one below. */
STK_GPU_CODE uint32_t stk_gpu_pair(float first, float second, enum stk_gpu_type type)
{
    return type == STK_GPU_F16 ? stk_gpu_to_f16(first) | stk_gpu_to_f16(second) << 16
                               : stk_gpu_to_bf16(first) | stk_gpu_to_bf16(second) << 16;
}

STK_GPU_CODE uint32_t stk_gpu_load(uint64_t at)
{
    return *(const uint32_t *)(uintptr_t)at;
}

STK_GPU_CODE uint32_t stk_gpu_load_byte(uint64_t at)
{
    return *(const uint8_t *)(uintptr_t)at;
}

STK_GPU_CODE struct stk_gpu_image stk_gpu_load_image(uint64_t images, uint32_t which)
{
    return ((const struct stk_gpu_image *)(uintptr_t)images)[which];
}

STK_GPU_CODE void stk_gpu_store_packet(uint64_t to, const uint32_t *packet)
{
    memcpy(__builtin_assume_aligned((void *)(uintptr_t)to, STK_GPU_PACKET), packet, STK_GPU_PACKET);
}

/* Stores each thread's own packets: here they take no turns. */
STK_GPU_CODE void stk_gpu_store_together(uint64_t to, const uint32_t *packets, uint32_t count,
                                         uint32_t behind)
{
    (void)behind;
    memcpy(__builtin_assume_aligned((void *)(uintptr_t)to, STK_GPU_PACKET), packets,
           (size_t)count * STK_GPU_PACKET);
}

STK_GPU_CODE void stk_gpu_store_number(uint64_t to, uint32_t number, uint32_t bytes)
{
    if (bytes == 4U) {
        *(uint32_t *)(uintptr_t)to = number;
    } else {
        *(uint16_t *)(uintptr_t)to = (uint16_t)number;
    }
}

#include "gpu/kernel.h"
