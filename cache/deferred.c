/* Validations that are put off. See cache/deferred.h. */
#include "cache/deferred.h"

#include <string.h>

#include "base/clock.h"
#include "base/sys.h"
#include "base/text.h"

#define FREE    0u
#define WAITING UINT32_MAX /* no process has this number */

#define LOOK_NS STK_NS_PER_S /* a wake-up can be lost with a process that is killed */

void stk_deferred_open(struct stk_deferred *deferred, const struct stk_roots *roots)
{
    deferred->root_count = 0;
    for (unsigned i = 0; i < roots->count; i++) {
        const struct stk_root *root = &roots->roots[i];
        if (root->usable && !stk_root_is_local(root)) {
            deferred->roots[deferred->root_count++] = root->key;
        }
    }
    atomic_store(&deferred->open, 1);
}

void stk_deferred_close(struct stk_deferred *deferred)
{
    atomic_store(&deferred->open, 0);
    atomic_fetch_add(&deferred->count, 1);
    stk_sys_futex_wake_all(&deferred->count);
}

/* ---- putting ---- */

static bool find_root(const struct stk_deferred *deferred, uint64_t key, uint32_t *place)
{
    for (uint32_t i = 0; i < deferred->root_count && i < STK_ROOTS; i++) {
        if (deferred->roots[i] == key) {
            *place = i;
            return true;
        }
    }
    return false;
}

static bool reserve(struct stk_deferred_slot *slot, uint32_t seen)
{
    return atomic_compare_exchange_strong(&slot->state, &seen, (uint32_t)stk_sys_getpid());
}

static struct stk_deferred_slot *find_free(struct stk_deferred *deferred)
{
    uint32_t first = atomic_fetch_add_explicit(&deferred->next, 1, memory_order_relaxed);
    for (uint32_t i = 0; i < STK_DEFERRED_SLOTS; i++) {
        struct stk_deferred_slot *slot = &deferred->slots[(first + i) % STK_DEFERRED_SLOTS];
        if (atomic_load_explicit(&slot->state, memory_order_relaxed) == FREE &&
            reserve(slot, FREE)) {
            return slot;
        }
    }
    return NULL;
}

/* One that was reserved by a process which was killed then. */
static struct stk_deferred_slot *find_abandoned(struct stk_deferred *deferred)
{
    for (uint32_t i = 0; i < STK_DEFERRED_SLOTS; i++) {
        struct stk_deferred_slot *slot = &deferred->slots[i];
        uint32_t state = atomic_load(&slot->state);
        if (state != FREE && state != WAITING && !stk_sys_process_exists((pid_t)state) &&
            reserve(slot, state)) {
            return slot;
        }
    }
    return NULL;
}

struct stk_deferred_slot *stk_deferred_reserve(struct stk_deferred *deferred,
                                               const struct stk_root *root, const char *below)
{
    uint32_t place;
    if (deferred == NULL || atomic_load_explicit(&deferred->open, memory_order_acquire) == 0 ||
        strlen(below) >= STK_DEFERRED_PATH_BYTES || !find_root(deferred, root->key, &place)) {
        return NULL;
    }
    struct stk_deferred_slot *slot = find_free(deferred);
    slot = slot != NULL ? slot : find_abandoned(deferred);
    if (slot != NULL) {
        slot->root = place;
        stk_text_copy(slot->below, sizeof slot->below, below);
    }
    return slot;
}

void stk_deferred_put(struct stk_deferred *deferred, struct stk_deferred_slot *slot)
{
    atomic_store(&slot->state, WAITING);
    atomic_fetch_add(&deferred->count, 1);
    if (atomic_load(&deferred->takers_waiting) != 0) {
        stk_sys_futex_wake_one(&deferred->count);
    }
}

void stk_deferred_give_back(struct stk_deferred_slot *slot)
{
    atomic_store(&slot->state, FREE);
}

/* ---- taking ---- */

static bool take_one(struct stk_deferred *deferred, uint64_t *root,
                     char below[STK_DEFERRED_PATH_BYTES])
{
    for (uint32_t i = 0; i < STK_DEFERRED_SLOTS; i++) {
        struct stk_deferred_slot *slot = &deferred->slots[i];
        uint32_t state = WAITING;
        if (atomic_load_explicit(&slot->state, memory_order_relaxed) == WAITING &&
            atomic_compare_exchange_strong(&slot->state, &state, (uint32_t)stk_sys_getpid())) {
            *root = deferred->roots[slot->root % STK_ROOTS];
            memcpy(below, slot->below, STK_DEFERRED_PATH_BYTES);
            below[STK_DEFERRED_PATH_BYTES - 1] = '\0';
            atomic_store(&slot->state, FREE);
            return true;
        }
    }
    return false;
}

bool stk_deferred_take(struct stk_deferred *deferred, uint64_t *root,
                       char below[STK_DEFERRED_PATH_BYTES])
{
    while (atomic_load(&deferred->open) != 0) {
        uint32_t count = atomic_load(&deferred->count);
        if (take_one(deferred, root, below)) {
            return true;
        }
        atomic_fetch_add(&deferred->takers_waiting, 1);
        stk_sys_futex_wait(&deferred->count, count, LOOK_NS);
        atomic_fetch_sub(&deferred->takers_waiting, 1);
    }
    return false;
}
