/*
 * Memory through which a file is copied. A process keeps as many buffers as its threads have used
 * at a time, up to a limit. To map one for each file costs a quarter of a fill, and more where many
 * threads fill. A caller that finds them taken (by other threads, or by a fork in the middle) maps
 * its own. No heap; safe in threads, after fork and in signal handlers.
 */
#pragma once

#define STK_BUFFER_BYTES (256u << 10)
#define STK_BUFFERS_KEPT 128

/* Returns NULL if there is no memory. */
char *stk_buffer_take(void);
void stk_buffer_put(char *buffer);
