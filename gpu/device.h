/* The operations that gpu/kernel.h needs, for the device. Only for nvcc. */
#pragma once

#include "gpu/job.h"

#define STK_GPU_CODE   static __device__ __forceinline__
#define STK_GPU_UNROLL _Pragma("unroll")

STK_GPU_CODE float stk_gpu_fma(float a, float b, float c)
{
    return __fmaf_rn(a, b, c);
}

STK_GPU_CODE uint32_t stk_gpu_bits(float value)
{
    return __float_as_uint(value);
}

/* The byte as the last digits of 2^23, which is taken off again: converting an integer takes four
 * times as long. */
STK_GPU_CODE float stk_gpu_byte(uint32_t word, uint32_t which)
{
    return __uint_as_float(__byte_perm(word, 0x4B000000U, 0x7440U | which)) - 8388608.0F;
}

STK_GPU_CODE uint32_t stk_gpu_to_f16(float value)
{
    unsigned short half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
    return half;
}

/* Rounds to the nearest, and to even between two equally near ones. */
STK_GPU_CODE uint32_t stk_gpu_to_bf16(float value)
{
    uint32_t bits = stk_gpu_bits(value);
    return (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;
}

/* Two numbers of 16 bits, the first one below. */
STK_GPU_CODE uint32_t stk_gpu_pair(float first, float second, enum stk_gpu_type type)
{
#if __CUDA_ARCH__ >= 800
    uint32_t pair;
    if (type == STK_GPU_F16) {
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
    } else {
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
    }
    return pair;
#else
    return type == STK_GPU_F16 ? stk_gpu_to_f16(first) | stk_gpu_to_f16(second) << 16
                               : stk_gpu_to_bf16(first) | stk_gpu_to_bf16(second) << 16;
#endif
}

/* No thread writes the images while the kernel runs, so reads may go through the cache for
 * constants. */
STK_GPU_CODE uint32_t stk_gpu_load(uint64_t at)
{
    return __ldg(reinterpret_cast<const unsigned *>(at));
}

STK_GPU_CODE uint32_t stk_gpu_load_byte(uint64_t at)
{
    return __ldg(reinterpret_cast<const unsigned char *>(at));
}

STK_GPU_CODE struct stk_gpu_image stk_gpu_load_image(uint64_t images, uint32_t which)
{
    const uint4 *at = reinterpret_cast<const uint4 *>(images) + 2 * which;
    uint4 first = __ldg(at), second = __ldg(at + 1);
    struct stk_gpu_image image;
    image.pixels = static_cast<uint64_t>(first.y) << 32 | first.x;
    image.width = first.z;
    image.height = first.w;
    image.stride = second.x;
    image.left = static_cast<int32_t>(second.y);
    image.top = static_cast<int32_t>(second.z);
    image.flip = second.w;
    return image;
}

/* Stores a packet by one instruction, in assembly: the C++ compiler cannot know that a number is an
 * address of global memory, and emits four stores. */
STK_GPU_CODE void stk_gpu_store_packet(uint64_t to, const uint32_t *packet)
{
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(packet[0]),
                 "r"(packet[1]), "r"(packet[2]), "r"(packet[3])
                 : "memory");
}

/*
 * Stores `count` packets of each thread, which lie one behind the other, and behind those of the
 * thread before it. A warp hands its packets round, so that each of its stores is of memory without
 * gaps. `behind` counts the threads with packets from this one on: those of the warp that have none
 * take no part.
 */
STK_GPU_CODE void stk_gpu_store_together(uint64_t to, const uint32_t *packets, uint32_t count,
                                         uint32_t behind)
{
    __shared__ uint4 handed[STK_GPU_THREADS * STK_GPU_CHANNELS];
    uint32_t lane = threadIdx.x % 32U, threads = min(behind + lane, 32U);
    uint4 *ours = handed + (threadIdx.x - lane) * count;
    STK_GPU_UNROLL
    for (uint32_t i = 0; i < count; i++) {
        ours[lane * count + i] = make_uint4(packets[4U * i], packets[4U * i + 1U],
                                            packets[4U * i + 2U], packets[4U * i + 3U]);
    }
    __syncwarp(0xffffffffU >> (32U - threads));
    STK_GPU_UNROLL
    for (uint32_t i = 0; i < count; i++) {
        uint32_t which = i * threads + lane;
        uint4 packet = ours[which];
        const uint32_t words[4] = {packet.x, packet.y, packet.z, packet.w};
        stk_gpu_store_packet(to - lane * count * STK_GPU_PACKET + which * STK_GPU_PACKET, words);
    }
}

STK_GPU_CODE void stk_gpu_store_number(uint64_t to, uint32_t number, uint32_t bytes)
{
    if (bytes == 4U) {
        asm volatile("st.global.u32 [%0], %1;" ::"l"(to), "r"(number) : "memory");
    } else {
        asm volatile("st.global.u16 [%0], %1;" ::"l"(to), "h"(static_cast<uint16_t>(number))
                     : "memory");
    }
}
