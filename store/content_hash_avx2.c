/* XXH3 once more, as base/hash.c has it: the Makefile compiles this file for AVX2. */
#include "store/content_hash.h"

#if defined(__x86_64__)

#define XXH_INLINE_ALL
#define XXH_NO_STREAM
#include <xxhash.h>

uint64_t stk_content_hash_64_avx2(const void *data, size_t bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, bytes, seed);
}

struct stk_hash128 stk_content_hash_128_avx2(const void *data, size_t bytes, uint64_t seed)
{
    XXH128_hash_t hash = XXH3_128bits_withSeed(data, bytes, seed);
    return (struct stk_hash128){.low = hash.low64, .high = hash.high64};
}

#endif
