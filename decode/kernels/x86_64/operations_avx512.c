/* Pillow's operations with vectors of 512 bits. */
#define LOOP                                                                                       \
    __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,prefer-vector-width=512"))) static
#define LANES 16
#define WARP  stk_avx2_warp
#include "decode/kernels/operation_loops.h"

const struct stk_operations stk_operations_avx512 = OPERATIONS;
