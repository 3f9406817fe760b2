/*
 * Hashes of files and values: the same numbers as base/hash.h's. Where the processor has AVX2,
 * wider vectors compute them, since whole files and values are hashed at each request. Safe in
 * threads and after a fork.
 */
#pragma once

#include "base/hash.h"

uint64_t stk_content_hash_64(const void *data, size_t bytes, uint64_t seed);
struct stk_hash128 stk_content_hash_128(const void *data, size_t bytes, uint64_t seed);

/* For processors with AVX2 alone. */
uint64_t stk_content_hash_64_avx2(const void *data, size_t bytes, uint64_t seed);
struct stk_hash128 stk_content_hash_128_avx2(const void *data, size_t bytes, uint64_t seed);
