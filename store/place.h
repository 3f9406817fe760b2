/*
 * Where a store lies: DIRECTORY/pid-NUMBER-BOOT.
 *
 * All users of one store must mean the same process by a number, since LMDB asks by number whether
 * a reader lives. So each pid namespace has a store of its own. Nothing is synced, so a store of an
 * earlier boot is never read: an unclean end of the machine may have damaged it. The store of a
 * namespace that is gone, such as a container's, is removed when no process has opened it for an
 * hour.
 */
#pragma once

#include <stdint.h>

#define STK_STORE_PLACE_BYTES 480

/* Makes the directories, removes stores that nothing will use again, writes the path. Returns 0 or
 * an errno: EINVAL for a file system that is not local, or a directory that other users could
 * write; ENAMETOOLONG; or what the system said. */
int stk_store_place(char out[STK_STORE_PLACE_BYTES], const char *directory);

/*
 * How large the map of a store's file may be. A map takes addresses. Where these are limited
 * (RLIMIT_AS, as batch systems set it), a map that is too large makes a later map of the job fail,
 * and the job with it.
 *
 * Returns the bytes to map for a store in `directory` that is to take `most_bytes`. If `most_bytes`
 * is 0 it is not known, since the budget is granted step by step: then the size of the file system
 * decides. Where addresses are limited, the map takes a quarter of those left at the most. Returns
 * 0 if nothing should be mapped: the file's present content would not fit, or too little would.
 */
uint64_t stk_map_bytes(const char *directory, uint64_t most_bytes);
