/* The operations that gpu/kernel.h needs, for the device. Only for nvcc. */
#ifndef STK_GPU_DEVICE_H
#define STK_GPU_DEVICE_H

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

STK_GPU_CODE uint32_t stk_gpu_to_f16(float value)
{
    unsigned short half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
    return half;
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

STK_GPU_CODE void stk_gpu_store_number(uint64_t to, uint32_t number, uint32_t bytes)
{
    if (bytes == 4U) {
        asm volatile("st.global.u32 [%0], %1;" ::"l"(to), "r"(number) : "memory");
    } else {
        asm volatile("st.global.u16 [%0], %1;" ::"l"(to), "h"(static_cast<uint16_t>(number))
                     : "memory");
    }
}

#endif
