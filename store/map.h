/*
 * How large the map of a store's file may be. A map takes addresses. Where these are limited
 * (RLIMIT_AS, as batch systems set it), a map that is too large makes a later map of the job fail,
 * and the job with it.
 */
#pragma once

#include <stdint.h>

/*
 * Returns the bytes to map for a store in `directory` that is to take `most_bytes`. If `most_bytes`
 * is 0 it is not known, since the budget is granted step by step: then the size of the file system
 * decides. Where addresses are limited, the map takes a quarter of those left at the most. Returns
 * 0 if nothing should be mapped: the file's present content would not fit, or too little would.
 */
uint64_t stk_map_bytes(const char *directory, uint64_t most_bytes);
