/* Which code hashes. */
#include "store/content_hash.h"

#include <stdbool.h>

#if defined(__x86_64__)

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2");
}

uint64_t stk_content_hash_64(const void *data, size_t bytes, uint64_t seed)
{
    return has_avx2() ? stk_content_hash_64_avx2(data, bytes, seed)
                      : stk_hash_64(data, bytes, seed);
}

struct stk_hash128 stk_content_hash_128(const void *data, size_t bytes, uint64_t seed)
{
    return has_avx2() ? stk_content_hash_128_avx2(data, bytes, seed)
                      : stk_hash_128(data, bytes, seed);
}

#else

uint64_t stk_content_hash_64(const void *data, size_t bytes, uint64_t seed)
{
    return stk_hash_64(data, bytes, seed);
}

struct stk_hash128 stk_content_hash_128(const void *data, size_t bytes, uint64_t seed)
{
    return stk_hash_128(data, bytes, seed);
}

#endif
