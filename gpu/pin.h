/* Memory of this process that the driver has locked. */
#pragma once

#include "gpu/context.h"

/* Returns how many bytes from `from` on, at most `bytes`, one copy may take without crossing the
 * border of a chunk. */
size_t stk_gpu_pin_reach(const struct stk_gpu *gpu, const unsigned char *from, size_t bytes);
void stk_gpu_pin_end(struct stk_gpu *gpu);
