/*
 * Hashes of what is kept: the same values as base/hash.h's, by wider vectors where the processor
 * has them, since whole files and values are hashed each time they are asked for. Safe in threads
 * and after a fork.
 */
#ifndef STK_STORE_CONTENT_H
#define STK_STORE_CONTENT_H

#include "base/hash.h"

uint64_t stk_content_64(const void *data, size_t bytes, uint64_t seed);
struct stk_hash128 stk_content_128(const void *data, size_t bytes, uint64_t seed);

/* Only for processors with AVX2. */
uint64_t stk_content_64_avx2(const void *data, size_t bytes, uint64_t seed);
struct stk_hash128 stk_content_128_avx2(const void *data, size_t bytes, uint64_t seed);

#endif
