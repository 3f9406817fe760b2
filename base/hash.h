/*
 * Hashes with XXH3 of xxHash (https://github.com/Cyan4973/xxHash), compiled in and kept to one
 * file. Not for secrets. Safe in threads, after fork and in signal handlers; allocates nothing.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct stk_hash128 {
    uint64_t low, high;
};

uint64_t stk_hash_64(const void *data, size_t bytes, uint64_t seed);
struct stk_hash128 stk_hash_128(const void *data, size_t bytes, uint64_t seed);

/* Hashes a folded path name by name, each with the hash of the path above it: the hash of "a/b" is
 * that of "b", above which lies the hash of "a". An empty path has the hash of what lies above. */
struct stk_hash128 stk_hash_path(const char *path, size_t length, struct stk_hash128 above);
