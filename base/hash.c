/* XXH3, kept behind base/hash.h. */
#include "base/hash.h"

#define XXH_INLINE_ALL
#define XXH_NO_STREAM
#include <xxhash.h>

uint64_t stk_hash_64(const void *data, size_t bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, bytes, seed);
}

struct stk_hash128 stk_hash_128(const void *data, size_t bytes, uint64_t seed)
{
    XXH128_hash_t hash = XXH3_128bits_withSeed(data, bytes, seed);
    return (struct stk_hash128){.low = hash.low64, .high = hash.high64};
}
