/*
 * A bucket is one cache line: seven slots in no order, and an eighth for the bucket's overflow.
 *
 * A slot, from its highest bits: 19 of the hash, 1 for the kind, 44 of time in units of 2^14 ns
 * (nine years of uptime). The eighth, in seconds: in its lower half the latest change that has
 * given way, in its upper half when a written file last went on to the next level.
 */
#include "cache/catalogue/changes.h"

#include "base/clock.h"

#define UNIT_BITS     14
#define TIME_BITS     44
#define TIME_MASK     ((UINT64_C(1) << TIME_BITS) - 1)
#define KIND_BIT      (UINT64_C(1) << TIME_BITS)
#define TAG_MASK      (~TIME_MASK & ~KIND_BIT)
#define KEYED_SLOTS   (STK_CHANGES_SLOTS - 1)
#define SECONDS_MASK  UINT64_C(0xffffffff)
#define WRITTEN_SHIFT 32
#define ATTEMPTS      64
#define BIT_SHIFT     20 /* other bits of the hash than a bucket's number */

#define LAST_OF_CHANGED 1 /* the level in which what has merely changed gives way */

uint64_t stk_changes_inode(uint64_t dev, uint64_t ino)
{
    uint64_t mixed = ino + dev * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 32) * UINT64_C(0xd6e8feb86659fd93);
    mixed = (mixed ^ mixed >> 29) * UINT64_C(0xd6e8feb86659fd93);
    return mixed ^ mixed >> 32;
}

static uint64_t units_of(int64_t ns)
{
    return ((uint64_t)ns >> UNIT_BITS) + 1;
}

static int64_t ns_of(uint64_t slot)
{
    return (int64_t)((slot & TIME_MASK) << UNIT_BITS);
}

static uint64_t seconds_of(int64_t ns)
{
    return (uint64_t)(ns / STK_NS_PER_S) + 1;
}

static int64_t seconds_to_ns(uint64_t seconds)
{
    return (int64_t)(seconds & SECONDS_MASK) * STK_NS_PER_S;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

struct stk_changes stk_changes_later(struct stk_changes a, struct stk_changes b)
{
    return (struct stk_changes){later(a.changed_ns, b.changed_ns),
                                later(a.written_ns, b.written_ns)};
}

static bool is_written(uint64_t slot)
{
    return (slot & KIND_BIT) != 0;
}

/* The hash's bucket in one level of the table; NULL when there is no such level. */
static _Atomic uint64_t *bucket_in(struct stk_catalogue *catalogue, unsigned level, uint64_t hash,
                                   bool create)
{
    size_t buckets = STK_CHANGES_BUCKETS;
    _Atomic uint64_t *table = level == 0
                                  ? &catalogue->header->changes[0][0]
                                  : stk_catalogue_changes(catalogue, level, &buckets, create);
    return table != NULL ? table + hash % buckets * STK_CHANGES_SLOTS : NULL;
}

/* ---- noting ---- */

/* Moves one half of a bucket's last slot forward; never back. */
static void set_overflow(_Atomic uint64_t *bucket, unsigned shift, int64_t ns)
{
    _Atomic uint64_t *last = &bucket[KEYED_SLOTS];
    uint64_t seconds = seconds_of(ns), seen = atomic_load(last);
    while ((seen >> shift & SECONDS_MASK) < seconds &&
           !atomic_compare_exchange_weak(last, &seen,
                                         (seen & ~(SECONDS_MASK << shift)) | seconds << shift)) {
    }
}

static void set_later(_Atomic int64_t *time, int64_t ns)
{
    int64_t seen = atomic_load(time);
    while (seen < ns && !atomic_compare_exchange_weak(time, &seen, ns)) {
    }
}

/* The slot to write: that of this hash and kind, else an empty one, else, if something is to give
 * way, that of the oldest change that is no writing; -1: there is none. */
static int choose(const _Atomic uint64_t *bucket, uint64_t name, bool give_way, uint64_t *seen)
{
    int chosen = -1;
    uint64_t oldest = UINT64_MAX;
    for (int i = 0; i < KEYED_SLOTS; i++) {
        uint64_t slot = atomic_load_explicit(&bucket[i], memory_order_acquire);
        if (slot != 0 && (slot & ~TIME_MASK) == name) {
            *seen = slot;
            return i;
        }
        bool free = slot == 0 || (give_way && !is_written(slot));
        if (free && (slot & TIME_MASK) < oldest) {
            oldest = slot & TIME_MASK;
            *seen = slot;
            chosen = i;
        }
    }
    return chosen;
}

/* Returns a time that the slot has not held yet, so that each note differs from all others. */
static uint64_t time_after(uint64_t slot, uint64_t name, uint64_t units)
{
    bool same = slot != 0 && (slot & ~TIME_MASK) == name;
    return same && (slot & TIME_MASK) >= units ? (slot & TIME_MASK) + 1 : units;
}

/* False: the bucket is full. */
static bool note_in(_Atomic uint64_t *bucket, uint64_t name, bool give_way, int64_t now_ns,
                    struct stk_mark *mark)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        uint64_t seen;
        int at = choose(bucket, name, give_way, &seen);
        if (at < 0) {
            return false;
        }
        bool same = seen != 0 && (seen & ~TIME_MASK) == name;
        if (seen != 0 && !same) {
            set_overflow(bucket, 0, ns_of(seen)); /* before it goes */
        }
        uint64_t slot = name | time_after(seen, name, units_of(now_ns));
        if (atomic_compare_exchange_strong(&bucket[at], &seen, slot)) {
            mark->before = same ? seen : 0;
            mark->now = slot;
            return true;
        }
    }
    return false;
}

/* A note that finds no room goes on to the next level, and the bucket holds when that last
 * happened. */
static void note(struct stk_catalogue *catalogue, enum stk_changes_kind kind, int64_t now_ns,
                 struct stk_mark *mark)
{
    bool written = kind == STK_WRITTEN;
    unsigned last = written ? STK_CHANGES_LEVELS : LAST_OF_CHANGED;
    uint64_t name = (mark->hash & TAG_MASK) | (written ? KIND_BIT : 0);
    for (unsigned level = 0; level <= last; level++) {
        _Atomic uint64_t *bucket = bucket_in(catalogue, level, mark->hash, true);
        if (bucket == NULL) {
            break;
        }
        if (note_in(bucket, name, !written && level == last, now_ns, mark)) {
            return;
        }
        set_overflow(bucket, written ? WRITTEN_SHIFT : 0, now_ns);
    }
    if (written) {
        set_later(&catalogue->header->written_lost_ns, now_ns);
    }
}

static void set_noted(struct stk_catalogue *catalogue, uint64_t hash)
{
    uint64_t bit = hash >> BIT_SHIFT;
    atomic_fetch_or(&catalogue->header->noted[bit / 64 % (STK_CHANGES_BITS / 64)],
                    UINT64_C(1) << (bit % 64));
}

void stk_changes_note(struct stk_catalogue *catalogue, uint64_t hash, enum stk_changes_kind kind,
                      struct stk_mark *mark)
{
    struct stk_mark unwanted = {hash, 0, 0};
    mark = mark != NULL ? mark : &unwanted;
    *mark = (struct stk_mark){hash, 0, 0};
    struct stk_catalogue_header *header = catalogue->header;
    bool written = kind == STK_WRITTEN;
    int64_t now_ns = stk_clock_boottime_ns();
    note(catalogue, kind, now_ns, mark);
    set_noted(catalogue, hash);
    set_later(written ? &header->last_written_ns : &header->last_changed_ns, now_ns);
    if (written) {
        atomic_fetch_add(&header->writings, 1); /* last: a process that sees it sees the rest */
    }
}

void stk_changes_take_back(struct stk_catalogue *catalogue, const struct stk_mark *mark)
{
    for (unsigned level = 0; level <= STK_CHANGES_LEVELS && mark->now != 0; level++) {
        _Atomic uint64_t *bucket = bucket_in(catalogue, level, mark->hash, false);
        for (int i = 0; bucket != NULL && i < KEYED_SLOTS; i++) {
            uint64_t seen = mark->now;
            if (atomic_compare_exchange_strong(&bucket[i], &seen, mark->before)) {
                return;
            }
        }
    }
}

/* ---- asking ---- */

/* Returns the latest of all slots with this hash: two processes that noted it at once may have used
 * two slots. */
static struct stk_changes look_in(const _Atomic uint64_t *bucket, uint64_t hash)
{
    uint64_t changed = 0, written = 0;
    for (int i = 0; i < KEYED_SLOTS; i++) {
        uint64_t slot = atomic_load_explicit(&bucket[i], memory_order_acquire);
        if (((slot ^ hash) & TAG_MASK) == 0) {
            uint64_t time = slot & TIME_MASK;
            uint64_t *latest = is_written(slot) ? &written : &changed;
            *latest = time > *latest ? time : *latest;
        }
    }
    return (struct stk_changes){ns_of(changed), ns_of(written)};
}

static struct stk_changes overflow_of(const _Atomic uint64_t *bucket)
{
    uint64_t last = atomic_load_explicit(&bucket[KEYED_SLOTS], memory_order_acquire);
    return (struct stk_changes){seconds_to_ns(last), seconds_to_ns(last >> WRITTEN_SHIFT)};
}

/* Returns what went on from a full bucket for this hash, as late as `beyond`. If there is no next
 * level, the lost note may have been of this hash; so it may if any note of writing was lost for
 * want of room. */
static struct stk_changes look_further(struct stk_catalogue *catalogue, uint64_t hash,
                                       struct stk_changes beyond)
{
    struct stk_changes found = {0, 0};
    for (unsigned level = 1; level <= STK_CHANGES_LEVELS; level++) {
        const _Atomic uint64_t *bucket = bucket_in(catalogue, level, hash, false);
        if (bucket == NULL) {
            return stk_changes_later(found, beyond);
        }
        found = stk_changes_later(found, look_in(bucket, hash));
        if (beyond.written_ns != 0) {
            found.written_ns =
                later(found.written_ns, atomic_load(&catalogue->header->written_lost_ns));
        }
        beyond = overflow_of(bucket);
        if (level == LAST_OF_CHANGED) {
            found.changed_ns = later(found.changed_ns, beyond.changed_ns);
            beyond.changed_ns = 0;
        }
        if (beyond.changed_ns == 0 && beyond.written_ns == 0) {
            return found;
        }
    }
    return stk_changes_later(found, beyond);
}

static bool is_noted(const struct stk_catalogue *catalogue, uint64_t hash)
{
    uint64_t bit = hash >> BIT_SHIFT;
    uint64_t word = atomic_load_explicit(
        &catalogue->header->noted[bit / 64 % (STK_CHANGES_BITS / 64)], memory_order_acquire);
    return (word >> (bit % 64) & 1) != 0;
}

struct stk_changes stk_changes_last(struct stk_catalogue *catalogue, uint64_t hash)
{
    if (!is_noted(catalogue, hash)) {
        return (struct stk_changes){0, 0};
    }
    const _Atomic uint64_t *bucket = bucket_in(catalogue, 0, hash, false);
    struct stk_changes found = look_in(bucket, hash), beyond = overflow_of(bucket);
    if (__builtin_expect(beyond.changed_ns != 0 || beyond.written_ns != 0, 0)) {
        found = stk_changes_later(found, look_further(catalogue, hash, beyond));
    }
    return found;
}
