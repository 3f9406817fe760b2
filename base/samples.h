/*
 * What a sample store is called in the directory that holds it (store/place.h): pid-NUMBER-BOOT,
 * for the pid namespace and the boot. The command, which knows nothing of stores, counts by it what
 * one takes of a tier's budget.
 */
#ifndef STK_BASE_SAMPLES_H
#define STK_BASE_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#define STK_SAMPLES_ROOM        "samples" /* the directory in a tier's home that holds its stores */
#define STK_SAMPLES_NAME_BYTES  64
#define STK_SAMPLES_BOOT_DIGITS 8 /* at the end of the name */

/* The number of this process's pid namespace; 0 where there is no /proc. */
uint64_t stk_samples_namespace(void);
/* Of the namespace of this number. False where it is 0, or there is no /proc. */
bool stk_samples_name(uint64_t namespace, char out[STK_SAMPLES_NAME_BYTES]);

#endif
