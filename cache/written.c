/*
 * Files opened for writing. See cache/written.h.
 * A bucket is one cache line: seven slots of (40 bits of hash, 24 bits of seconds), and in the
 * eighth the last time that one more went on to the next level.
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

/* Moves a slot that holds a bare time forward; never back. */
static void set_since(_Atomic uint64_t *slot, uint64_t now)
{
    uint64_t seen = atomic_load(slot);
    while (!is_marked_since(seen, now) && !atomic_compare_exchange_weak(slot, &seen, now)) {
    }
}

/* The inode's bucket in one level of the table; NULL when there is no such level. */
static _Atomic uint64_t *bucket_in(struct stk_catalogue *catalogue, unsigned level, uint64_t hash,
                                   bool create)
{
    size_t buckets = STK_WRITTEN_BUCKETS;
    _Atomic uint64_t *table = level == 0
                                  ? &catalogue->header->written[0][0]
                                  : stk_catalogue_written(catalogue, level, &buckets, create);
    return table != NULL ? table + hash % buckets * STK_WRITTEN_SLOTS : NULL;
}

/* False: the bucket is full, and says so. */
static bool mark_in(_Atomic uint64_t *bucket, uint64_t hash, uint64_t now)
{
    uint64_t wanted = (hash & ~(uint64_t)SECONDS_MASK) | now;
    for (int i = 0; i < KEYED_SLOTS; i++) {
        uint64_t seen = atomic_load(&bucket[i]);
        while (seen == 0 || same_inode(seen, hash)) {
            if (is_marked_since(seen, now) ||
                atomic_compare_exchange_weak(&bucket[i], &seen, wanted)) {
                return true;
            }
        }
    }
    set_since(&bucket[KEYED_SLOTS], now);
    return false;
}

void stk_written_mark_inode(struct stk_catalogue *catalogue, uint64_t dev, uint64_t ino)
{
    uint64_t hash = hash_inode(dev, ino);
    uint64_t now = stk_written_seconds(stk_clock_boottime_ns()) & SECONDS_MASK;
    now += now == 0; /* 0 means never */
    atomic_store(&catalogue->header->any_written, 1);
    for (unsigned level = 0; level <= STK_WRITTEN_LEVELS; level++) {
        _Atomic uint64_t *bucket = bucket_in(catalogue, level, hash, true);
        if (bucket == NULL) {
            break;
        }
        if (mark_in(bucket, hash, now)) {
            return;
        }
    }
    set_since(&catalogue->header->written_lost_s, now);
}

enum found { NO, YES, FURTHER /* in the next level, if anywhere */ };

static enum found find_in(const _Atomic uint64_t *bucket, uint64_t hash, uint64_t since)
{
    for (int i = 0; i < KEYED_SLOTS; i++) {
        uint64_t slot = atomic_load_explicit(&bucket[i], memory_order_relaxed);
        if (slot == 0) {
            return NO;
        }
        if (same_inode(slot, hash)) {
            return is_since(slot, since) ? YES : NO;
        }
    }
    uint64_t overflow = atomic_load_explicit(&bucket[KEYED_SLOTS], memory_order_relaxed);
    return is_marked_since(overflow, since) ? FURTHER : NO;
}

bool stk_written_has_inode(struct stk_catalogue *catalogue, uint64_t dev, uint64_t ino,
                           int64_t since_ns)
{
    const struct stk_catalogue_header *header = catalogue->header;
    if (atomic_load_explicit(&header->any_written, memory_order_acquire) == 0) {
        return false;
    }
    uint64_t hash = hash_inode(dev, ino);
    uint64_t since = stk_written_seconds(since_ns);
    for (unsigned level = 0; level <= STK_WRITTEN_LEVELS; level++) {
        const _Atomic uint64_t *bucket = bucket_in(catalogue, level, hash, false);
        if (bucket == NULL) {
            return true;
        }
        enum found found = find_in(bucket, hash, since);
        if (found != FURTHER) {
            return found == YES;
        }
        if (is_marked_since(atomic_load(&header->written_lost_s), since)) {
            return true; /* it may have been this one */
        }
    }
    return true;
}

bool stk_written_has_record(const struct stk_record *record, int64_t since_ns)
{
    uint32_t written = atomic_load_explicit(&record->written_s, memory_order_acquire);
    return written != 0 && written >= stk_written_seconds(since_ns);
}
