/*
 * How large the map of a store's file may be. A map takes addresses, and where these are limited
 * (RLIMIT_AS, as batch systems set it) the job's own map would fail later, and the job with it.
 */
#ifndef STK_STORE_MAP_H
#define STK_STORE_MAP_H

#include <stdint.h>

/*
 * How many bytes to map for a store in `directory` that is to take `most_bytes`. 0 bytes: that is
 * not known, since the budget is granted step by step, and the size of the file system says it. Of
 * limited addresses it is a quarter of what is left at the most. 0: nothing should be mapped, since
 * what the file holds now would not fit, or nothing worth while.
 */
uint64_t stk_map_bytes(const char *directory, uint64_t most_bytes);

#endif
