#include "ring/ring.h"

#include <errno.h>
#include <string.h>

#include "base/invariant.h"
#include "base/sys.h"

#define WINDOW 256 /* takes after which the earlier maximum no longer counts */

/* Returns true if the slot is large enough, and at most about twice as large as the request. */
static bool fits(size_t slot_bytes, size_t bytes)
{
    return slot_bytes >= bytes && slot_bytes / 2 <= bytes;
}

static bool is_there(const struct stk_ring_slot *slot)
{
    return slot->slot.memory != NULL;
}

static bool is_busy(const struct stk_ring_slot *slot)
{
    return slot->holders > 0 || stk_slot_times_lent(&slot->slot) > 0;
}

static bool is_free(const struct stk_ring_slot *slot)
{
    return is_there(slot) && !is_busy(slot) && !stk_slot_has(&slot->slot, STK_SLOT_KEPT);
}

void stk_ring_begin(struct stk_ring *ring, uint64_t name)
{
    memset(ring, 0, sizeof *ring);
    ring->owner = stk_sys_getpid();
    ring->name = name;
}

bool stk_ring_is_own(const struct stk_ring *ring)
{
    return ring->owner != 0 && ring->owner == stk_sys_getpid();
}

/* ---- dropping slots ---- */

/* Drops a slot from the ring; processes that have it mapped keep it. If no batch in it is in use,
 * its memory is emptied at once: closing it would free nothing while the receiver has it mapped. */
static void forget(struct stk_ring_slot *slot)
{
    bool unseen = is_free(slot);
    stk_slot_mark(&slot->slot, STK_SLOT_OVER);
    if (unseen) {
        stk_slot_empty(&slot->slot);
    }
    stk_sys_close_opened(slot->fd);
    stk_slot_drop_copy(&slot->slot, slot->copy);
    stk_slot_unmap(&slot->slot);
    *slot = (struct stk_ring_slot){0};
}

/* Returns the slot that was taken the longest ago, among those for which `is_it`, or NULL. */
static struct stk_ring_slot *oldest(struct stk_ring *ring,
                                    bool (*is_it)(const struct stk_ring_slot *))
{
    struct stk_ring_slot *found = NULL;
    for (int i = 0; i < STK_RING_SLOTS; i++) {
        struct stk_ring_slot *slot = &ring->slots[i];
        if (is_there(slot) && is_it(slot) && (found == NULL || slot->taken < found->taken)) {
            found = slot;
        }
    }
    return found;
}

/* Returns true if only the receiver has the slot, and knows how to map it. */
static bool is_away(const struct stk_ring_slot *slot)
{
    return slot->holders == 0 && slot->fd < 0;
}

static void forget_kept(struct stk_ring *ring)
{
    for (int i = 0; i < STK_RING_SLOTS; i++) {
        struct stk_ring_slot *slot = &ring->slots[i];
        if (is_there(slot) && !is_busy(slot) && stk_slot_has(&slot->slot, STK_SLOT_KEPT)) {
            forget(slot);
        }
    }
}

/* ---- how much there may be ---- */

static bool is_offer(const struct stk_ring_slot *slot)
{
    return slot->offered && is_free(slot);
}

static bool is_unused(const struct stk_ring_slot *slot)
{
    return !slot->offered && is_free(slot);
}

/* Returns the bytes of all slots with memory, and in `*busy` how many of them are in flight. */
static size_t add_up(const struct stk_ring *ring, size_t *busy)
{
    size_t all = 0;
    *busy = 0;
    for (int i = 0; i < STK_RING_SLOTS; i++) {
        const struct stk_ring_slot *slot = &ring->slots[i];
        all += is_offer(slot) ? 0 : slot->slot.bytes;
        *busy += is_there(slot) && is_busy(slot) ? slot->slot.bytes : 0;
    }
    return all;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Notes what is in flight, and drops free slots until the ring has no more than the recent
 * maximum. */
static void trim(struct stk_ring *ring)
{
    size_t busy, all = add_up(ring, &busy);
    if (ring->takes % WINDOW == 0) {
        ring->most_bytes[1] = ring->most_bytes[0];
        ring->most_bytes[0] = 0;
    }
    ring->most_bytes[0] = larger(ring->most_bytes[0], busy);
    size_t most = larger(ring->most_bytes[0], ring->most_bytes[1]);
    struct stk_ring_slot *unused;
    while (all > most && (unused = oldest(ring, is_unused)) != NULL) {
        STK_INVARIANT(unused->holders == 0 && unused->slot.bytes <= all);
        all -= unused->slot.bytes;
        forget(unused);
    }
}

/* ---- taking ---- */

/* Returns the smallest free slot that fits; among equals the one last used, so that the others can
 * be dropped. */
static int find_free(const struct stk_ring *ring, size_t bytes)
{
    int best = -1;
    for (int i = 0; i < STK_RING_SLOTS; i++) {
        const struct stk_ring_slot *slot = &ring->slots[i];
        if (!fits(slot->slot.bytes, bytes) || !is_free(slot)) {
            continue;
        }
        const struct stk_ring_slot *other = best < 0 ? slot : &ring->slots[best];
        if (best < 0 || slot->slot.bytes < other->slot.bytes ||
            (slot->slot.bytes == other->slot.bytes && slot->taken > other->taken)) {
            best = i;
        }
    }
    return best;
}

/* Returns the number of an empty place in the ring, for which the oldest slot may have to be
 * dropped. */
static int find_place(struct stk_ring *ring)
{
    for (int i = 0; i < STK_RING_SLOTS; i++) {
        if (!is_there(&ring->slots[i])) {
            return i;
        }
    }
    struct stk_ring_slot *offer = oldest(ring, is_offer);
    struct stk_ring_slot *dropped = offer != NULL ? offer : oldest(ring, is_away);
    if (dropped == NULL) {
        return -EBUSY;
    }
    forget(dropped);
    return (int)(dropped - ring->slots);
}

static int make(struct stk_ring *ring, size_t bytes)
{
    struct stk_slot_name name = {ring->name, ring->numbers++};
    int place = find_place(ring);
    if (place < 0) {
        return place;
    }
    struct stk_ring_slot *slot = &ring->slots[place];
    int fd = stk_slot_make(&slot->slot, bytes, name);
    if (fd < 0) {
        return fd;
    }
    slot->fd = fd;
    return place;
}

int stk_ring_take(struct stk_ring *ring, size_t bytes)
{
    forget_kept(ring);
    int found = find_free(ring, bytes);
    if (found < 0) {
        found = make(ring, bytes);
    }
    if (found < 0) {
        return found;
    }
    struct stk_ring_slot *slot = &ring->slots[found];
    STK_INVARIANT(slot->holders == 0 && slot->slot.bytes >= bytes);
    slot->holders = 1;
    slot->offered = false;
    slot->taken = ++ring->takes;
    trim(ring);
    return found;
}

void stk_ring_hold(struct stk_ring *ring, int slot)
{
    STK_INVARIANT(slot >= 0 && slot < STK_RING_SLOTS && is_there(&ring->slots[slot]));
    ring->slots[slot].holders++;
}

void stk_ring_let_go(struct stk_ring *ring, int slot)
{
    STK_INVARIANT(slot >= 0 && slot < STK_RING_SLOTS && is_there(&ring->slots[slot]));
    STK_INVARIANT(ring->slots[slot].holders > 0);
    ring->slots[slot].holders--;
}

int stk_ring_find(const struct stk_ring *ring, const void *address)
{
    for (int i = 0; i < STK_RING_SLOTS; i++) {
        if (stk_slot_covers(&ring->slots[i].slot, address)) {
            return i;
        }
    }
    return -1;
}

void stk_ring_introduced(struct stk_ring *ring, int slot)
{
    struct stk_ring_slot *known = &ring->slots[slot];
    if (known->fd >= 0) {
        stk_sys_close(known->fd);
        known->fd = -1;
    }
}

void stk_ring_offer(struct stk_ring *ring, int slot)
{
    STK_INVARIANT(slot >= 0 && slot < STK_RING_SLOTS && is_there(&ring->slots[slot]));
    stk_slot_give_back(&ring->slots[slot].slot);
    ring->slots[slot].offered = true;
}

/* ---- forks and ends ---- */

/* Also marks each slot as kept, for a child whose copy found no memory. */
void stk_ring_keep(struct stk_ring *ring)
{
    stk_ring_go_on(ring);
    for (int i = 0; i < STK_RING_SLOTS; i++) {
        struct stk_ring_slot *slot = &ring->slots[i];
        if (slot->holders > 0) {
            stk_slot_mark(&slot->slot, STK_SLOT_KEPT);
            slot->copy = stk_slot_copy(&slot->slot);
        }
    }
}

void stk_ring_go_on(struct stk_ring *ring)
{
    for (int i = 0; i < STK_RING_SLOTS; i++) {
        struct stk_ring_slot *slot = &ring->slots[i];
        stk_slot_drop_copy(&slot->slot, slot->copy);
        slot->copy = NULL;
    }
}

/* The parent's words stay as they are: only this process's map and descriptor go. */
void stk_ring_leave(struct stk_ring *ring)
{
    for (int i = 0; i < STK_RING_SLOTS; i++) {
        struct stk_ring_slot *slot = &ring->slots[i];
        if (!is_there(slot)) {
            continue;
        }
        stk_sys_close_opened(slot->fd);
        if (slot->holders == 0) {
            stk_slot_drop_copy(&slot->slot, slot->copy);
            stk_slot_unmap(&slot->slot);
        } else { /* a slot that a thread took during the fork has no copy yet */
            stk_slot_put_copy(&slot->slot, slot->copy ? slot->copy : stk_slot_copy(&slot->slot));
        }
    }
    memset(ring, 0, sizeof *ring);
}

void stk_ring_end(struct stk_ring *ring)
{
    for (int i = 0; i < STK_RING_SLOTS; i++) {
        if (is_there(&ring->slots[i])) {
            stk_slot_mark(&ring->slots[i].slot, STK_SLOT_OVER);
        }
    }
}
