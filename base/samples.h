/*
 * Names the directory of a sample store (store/place.h): pid-NUMBER-BOOT, for the pid namespace and
 * the boot. The command, which knows nothing of stores, finds by this name what a store takes of a
 * tier's budget.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define STK_SAMPLES_DIRECTORY   "samples" /* the directory in a tier's home that holds its stores */
#define STK_SAMPLES_NAME_BYTES  64
#define STK_SAMPLES_BOOT_DIGITS 8 /* at the end of the name */

/* Writes the name for the namespace of this number. Returns false if that is 0, or there is no
 * /proc. */
bool stk_samples_name(uint64_t namespace, char out[STK_SAMPLES_NAME_BYTES]);
/* Returns true if a directory's name is a store's: of any namespace and boot. */
bool stk_samples_is_name(const char *name);
