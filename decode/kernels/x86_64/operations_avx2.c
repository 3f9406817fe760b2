/* Pillow's operations with vectors of 256 bits. */
#define LOOP    __attribute__((target("avx2"))) static
#define LANES   8
#define WARP    stk_avx2_warp
#define LOOK_UP stk_plain_look_up
#include "decode/kernels/operation_loops.h"

const struct stk_operations stk_operations_avx2 = OPERATIONS;
