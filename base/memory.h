/*
 * How much memory this process could still use: what the machine has free and what its control
 * group (v2 or v1, and every group above) allows. Raw system calls, no allocation.
 */
#ifndef STK_BASE_MEMORY_H
#define STK_BASE_MEMORY_H

#include <stdint.h>

/* Bytes; INT64_MAX when nothing can be told. */
struct stk_memory {
    int64_t total, available;
};
struct stk_memory_view {
    struct stk_memory machine;
    struct stk_memory group; /* the smallest of its own and of all above it that have a limit */
    /* Names the nearest group that has a limit; 0: none has. By the identity of its directory, as
     * two containers may both see theirs as "/". */
    uint64_t group_id;
};
void stk_memory_look(struct stk_memory_view *out);
/* The group's name alone. */
uint64_t stk_memory_group_id(void);

/* Of machine and group the smaller. */
int64_t stk_memory_available_bytes(void);
int64_t stk_memory_total_bytes(void);

#endif
