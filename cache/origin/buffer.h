/*
 * A buffer for copying. One stays with the process, since mapping one for each file costs a quarter
 * of a fill. A caller that finds it taken (by another thread, or by a fork in the middle) maps its
 * own. No heap; safe in threads, after fork and in signal handlers.
 */
#pragma once

#define STK_BUFFER_BYTES (256u << 10)

/* Returns NULL if there is no memory. */
char *stk_buffer_take(void);
void stk_buffer_put(char *buffer);
