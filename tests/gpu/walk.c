/* The grid on this processor. See tests/gpu/walk.h. */
#include "tests/gpu/walk.h"

#include "gpu/host.h"

#define ENTRY(name, type, layout, channels)                                                        \
    static void name(const struct stk_gpu_job *job, uint32_t image, uint32_t block)                \
    {                                                                                              \
        for (uint32_t thread = 0; thread < STK_GPU_THREADS; thread++) {                            \
            stk_gpu_thread(job, type, layout, channels, image, block, thread);                     \
        }                                                                                          \
    }
#include "gpu/entries.def"
#undef ENTRY

#define ENTRY(name, type, layout, channels) {#name, type, layout, channels, name},
static const struct walk_entry entries[] = {
#include "gpu/entries.def"
};
#undef ENTRY

#define ENTRIES (sizeof entries / sizeof *entries)

const struct walk_entry *walk_entry(const char *name)
{
    for (size_t i = 0; i < ENTRIES; i++) {
        if (strcmp(entries[i].name, name) == 0) {
            return &entries[i];
        }
    }
    return NULL;
}

const struct walk_entry *walk_entry_for(enum stk_gpu_type type, enum stk_gpu_layout layout,
                                        uint32_t channels)
{
    for (size_t i = 0; i < ENTRIES; i++) {
        if (entries[i].type == type && entries[i].layout == layout &&
            entries[i].channels == channels) {
            return &entries[i];
        }
    }
    return NULL;
}

void walk(const struct walk_entry *entry, const struct stk_gpu_job *job, uint32_t columns,
          uint32_t rows)
{
    for (uint32_t image = 0; image < rows; image++) {
        for (uint32_t block = 0; block < columns; block++) {
            entry->block(job, image, block);
        }
    }
}
