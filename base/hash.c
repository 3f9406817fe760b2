/* XXH3, kept behind base/hash.h. */
#include "base/hash.h"

#include <string.h>

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

/* A seed has 64 bits. The other half of the hash above is added, or 64 bits would be all. */
struct stk_hash128 stk_hash_path(const char *path, size_t length, struct stk_hash128 above)
{
    for (const char *end = path + length, *next; path < end; path = next + 1) {
        next = memchr(path, '/', (size_t)(end - path));
        next = next != NULL ? next : end;
        struct stk_hash128 name = stk_hash_128(path, (size_t)(next - path), above.low);
        above.low = name.low;
        above.high = name.high + (above.high << 23 | above.high >> 41);
    }
    return above;
}
