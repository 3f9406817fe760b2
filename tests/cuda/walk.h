/* The kernel's grid on this processor: every block and every thread of it, one after the other, by
 * the device's own index computation. */
#ifndef STK_TESTS_CUDA_WALK_H
#define STK_TESTS_CUDA_WALK_H

#include "gpu/job.h"

/* One entry point of the kernel: does what the block's threads do. */
typedef void walk_block(const struct stk_gpu_job *job, uint32_t image, uint32_t block);

/* The entry point of that name, or NULL. */
walk_block *walk_find(const char *name);
/* The one for these, or NULL. */
walk_block *walk_find_for(enum stk_gpu_type type, enum stk_gpu_layout layout, uint32_t channels);

/* All blocks of a grid of that many columns and rows. */
void walk(walk_block *entry, const struct stk_gpu_job *job, uint32_t columns, uint32_t rows);

#endif
