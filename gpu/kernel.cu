/* The kernel's entry points: one for each type, layout and number of channels. See gpu/kernel.h. */
#include "gpu/device.h"
#include "gpu/kernel.h"

#define ENTRY(name, type, layout, channels)                                                        \
    extern "C" __global__ void __launch_bounds__(STK_GPU_THREADS)                                  \
        name(const __grid_constant__ struct stk_gpu_job job)                                       \
    {                                                                                              \
        stk_gpu_thread(&job, type, layout, channels, blockIdx.y, blockIdx.x, threadIdx.x);         \
    }

#include "gpu/entries.def"
