/* Which code hashes. */
#include "store/content_hash.h"

#if defined(__x86_64__)
#define BEST(plain, avx2) (__builtin_cpu_supports("avx2") ? avx2 : plain)
#else
#define BEST(plain, avx2) plain
#endif

uint64_t stk_content_hash_64(const void *data, size_t bytes, uint64_t seed)
{
    return BEST(stk_hash_64, stk_content_hash_64_avx2)(data, bytes, seed);
}

struct stk_hash128 stk_content_hash_128(const void *data, size_t bytes, uint64_t seed)
{
    return BEST(stk_hash_128, stk_content_hash_128_avx2)(data, bytes, seed);
}
