#include "cli/fill/partition.h"

#include "base/hash.h"

unsigned partition_of(const char *below, size_t length, unsigned nodes)
{
    uint64_t highest = 0;
    unsigned best = 1;
    for (unsigned node = 1; node <= nodes; node++) {
        uint64_t hash = stk_hash_64(below, length, node);
        if (hash > highest) {
            highest = hash;
            best = node;
        }
    }
    return best;
}
