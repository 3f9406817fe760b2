/*
 * Measures how much memory this process could still use: what the machine has free, and what its
 * control group allows (v2 or v1, and every group above). Raw system calls, no allocation.
 */
#pragma once

#include <stdint.h>

/* Sizes in bytes; INT64_MAX if they are unknown. */
struct stk_memory {
    int64_t total, available;
};
struct stk_memory_view {
    struct stk_memory machine;
    struct stk_memory
        group; /* the smallest of the process's group and of all above it that have a limit */
    /* Names the nearest group that has a limit; 0: no group has one. The name is the identity of
     * the group's directory, since two containers may both see theirs as "/". */
    uint64_t group_id;
};
void stk_memory_look(struct stk_memory_view *out);
/* Returns the group_id alone. */
uint64_t stk_memory_group_id(void);

/* Return the smaller of the machine's and the group's value. */
int64_t stk_memory_available_bytes(void);
int64_t stk_memory_total_bytes(void);
/* Returns how much is little where there are this many bytes in all: what is left to the job. */
int64_t stk_memory_little(int64_t total_bytes);
