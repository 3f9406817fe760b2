/* Pillow's operations on any processor. */
#define LOOP  static
#define LANES 4
#define WARP  stk_plain_warp
#include "decode/kernels/operation_loops.h"

const struct stk_operations stk_operations_plain = OPERATIONS;
