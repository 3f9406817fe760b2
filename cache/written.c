/*
 * Files opened for writing. See cache/written.h.
 * A bucket is one cache line: seven slots of (40 bits of hash, 24 bits of seconds), and the time of
 * the last overflow in the eighth.
 */
#include "cache/written.h"

#include "base/clock.h"
#include "base/hash.h"

#define SECONDS_MASK 0xffffffu
#define KEYED_SLOTS  (STK_WRITTEN_SLOTS - 1)

uint32_t stk_written_seconds(int64_t boottime_ns)
{
    return (uint32_t)(boottime_ns / STK_NS_PER_S) + 1;
}

static uint64_t hash_inode(uint64_t dev, uint64_t ino)
{
    const uint64_t parts[] = {dev, ino};
    return stk_hash_64(parts, sizeof parts, 0);
}

/* Modulo 194 days of uptime; a mark half of that old counts as new, which is the safe direction. */
static bool is_since(uint64_t seconds, uint64_t since)
{
    return ((seconds - since) & SECONDS_MASK) <= SECONDS_MASK / 2;
}

/* Of a slot that may be empty. A later time is never replaced by the earlier one of a slow marker.
 */
static bool is_marked_since(uint64_t slot, uint64_t since)
{
    return slot != 0 && is_since(slot, since);
}

static bool same_inode(uint64_t slot, uint64_t hash)
{
    return (slot ^ hash) >> 24 == 0;
}

static void mark(struct stk_catalogue_header *header, uint64_t dev, uint64_t ino)
{
    uint64_t hash = hash_inode(dev, ino);
    uint64_t now = stk_written_seconds(stk_clock_boottime_ns()) & SECONDS_MASK;
    now += now == 0; /* 0 means never */
    uint64_t wanted = (hash & ~(uint64_t)SECONDS_MASK) | now;
    _Atomic uint64_t *bucket = header->written[hash % STK_WRITTEN_BUCKETS];
    for (int i = 0; i < KEYED_SLOTS; i++) {
        uint64_t seen = atomic_load(&bucket[i]);
        while (seen == 0 || same_inode(seen, hash)) {
            if (is_marked_since(seen, now) ||
                atomic_compare_exchange_weak(&bucket[i], &seen, wanted)) {
                return;
            }
        }
    }
    uint64_t seen = atomic_load(&bucket[KEYED_SLOTS]);
    while (!is_marked_since(seen, now) &&
           !atomic_compare_exchange_weak(&bucket[KEYED_SLOTS], &seen, now)) {
    }
}

void stk_written_mark_inode(struct stk_catalogue_header *header, uint64_t dev, uint64_t ino)
{
    atomic_store(&header->any_written, 1);
    mark(header, dev, ino);
}

bool stk_written_has_inode(const struct stk_catalogue_header *header, uint64_t dev, uint64_t ino,
                           int64_t since_ns)
{
    if (atomic_load_explicit(&header->any_written, memory_order_acquire) == 0) {
        return false;
    }
    uint64_t hash = hash_inode(dev, ino);
    uint64_t since = stk_written_seconds(since_ns);
    const _Atomic uint64_t *bucket = header->written[hash % STK_WRITTEN_BUCKETS];
    uint64_t overflow = atomic_load_explicit(&bucket[KEYED_SLOTS], memory_order_relaxed);
    if (is_marked_since(overflow, since)) {
        return true;
    }
    for (int i = 0; i < KEYED_SLOTS; i++) {
        uint64_t slot = atomic_load_explicit(&bucket[i], memory_order_relaxed);
        if (slot == 0) {
            return false;
        }
        if (same_inode(slot, hash)) {
            return is_since(slot, since);
        }
    }
    return false;
}

bool stk_written_has_record(const struct stk_record *record, int64_t since_ns)
{
    uint32_t written = atomic_load_explicit(&record->written_s, memory_order_acquire);
    return written != 0 && written >= stk_written_seconds(since_ns);
}
