/* The kernel's grid on this processor: every block and every thread of it, one after the other, by
 * the device's own index computation. */
#pragma once

#include "gpu/job.h"

/* One entry point of the kernel. */
struct walk_entry {
    const char *name;
    enum stk_gpu_type type;
    enum stk_gpu_layout layout;
    uint32_t channels;
    void (*block)(const struct stk_gpu_job *job, uint32_t image, uint32_t block);
};

/* The one of that name, or NULL. */
const struct walk_entry *walk_entry(const char *name);
/* The one for these, or NULL. */
const struct walk_entry *walk_entry_for(enum stk_gpu_type type, enum stk_gpu_layout layout,
                                        uint32_t channels);

/* All blocks of a grid of that many columns and rows. */
void walk(const struct walk_entry *entry, const struct stk_gpu_job *job, uint32_t columns,
          uint32_t rows);
