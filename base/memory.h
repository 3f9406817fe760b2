/*
 * How much memory this process could still use: what the machine has free and what its control
 * group (v2 or v1, and every group above) allows. Raw system calls, no allocation.
 */
#ifndef STK_BASE_MEMORY_H
#define STK_BASE_MEMORY_H

#include <stdint.h>

/* Bytes; INT64_MAX when nothing can be told. */
int64_t stk_memory_available_bytes(void);
/* What there is in all: the machine's memory, or the smallest limit of the groups. */
int64_t stk_memory_total_bytes(void);

#endif
