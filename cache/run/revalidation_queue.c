#include "cache/run/revalidation_queue.h"

#include <string.h>

#include "base/clock.h"
#include "base/sys.h"
#include "base/text.h"

#define FREE    0u
#define WAITING UINT32_MAX /* no process has this number */

#define LOOK_NS STK_NS_PER_S /* a wake-up can be lost with a process that is killed */

void stk_revalidation_queue_open(struct stk_revalidation_queue *queue,
                                 const struct stk_roots *roots, pid_t taker)
{
    queue->root_count = 0;
    for (unsigned i = 0; i < roots->count; i++) {
        const struct stk_root *root = &roots->roots[i];
        if (root->usable && !stk_root_is_local(root)) {
            queue->roots[queue->root_count++] = root->key.low;
        }
    }
    atomic_store(&queue->taker, (uint32_t)taker);
}

void stk_revalidation_queue_close(struct stk_revalidation_queue *queue)
{
    atomic_store(&queue->taker, 0);
    atomic_fetch_add(&queue->count, 1);
    stk_sys_futex_wake_all(&queue->count);
}

/* ---- putting ---- */

static bool find_root(const struct stk_revalidation_queue *queue, uint64_t key, uint32_t *place)
{
    for (uint32_t i = 0; i < queue->root_count && i < STK_ROOTS; i++) {
        if (queue->roots[i] == key) {
            *place = i;
            return true;
        }
    }
    return false;
}

static bool reserve(struct stk_revalidation_queue_slot *slot, uint32_t seen)
{
    return atomic_compare_exchange_strong(&slot->state, &seen, (uint32_t)stk_sys_getpid());
}

static struct stk_revalidation_queue_slot *find_free(struct stk_revalidation_queue *queue)
{
    uint32_t first = atomic_fetch_add_explicit(&queue->next, 1, memory_order_relaxed);
    for (uint32_t i = 0; i < STK_REVALIDATION_QUEUE_SLOTS; i++) {
        struct stk_revalidation_queue_slot *slot =
            &queue->slots[(first + i) % STK_REVALIDATION_QUEUE_SLOTS];
        if (atomic_load_explicit(&slot->state, memory_order_relaxed) == FREE &&
            reserve(slot, FREE)) {
            return slot;
        }
    }
    return NULL;
}

/* One that was reserved by a process which was killed then. */
static struct stk_revalidation_queue_slot *find_abandoned(struct stk_revalidation_queue *queue)
{
    for (uint32_t i = 0; i < STK_REVALIDATION_QUEUE_SLOTS; i++) {
        struct stk_revalidation_queue_slot *slot = &queue->slots[i];
        uint32_t state = atomic_load(&slot->state);
        if (state != FREE && state != WAITING && !stk_sys_process_exists((pid_t)state) &&
            reserve(slot, state)) {
            return slot;
        }
    }
    return NULL;
}

/* Returns true if another process takes from the queue. */
static bool is_for_another(const struct stk_revalidation_queue *queue)
{
    uint32_t taker = atomic_load_explicit(&queue->taker, memory_order_acquire);
    return taker != 0 && taker != (uint32_t)stk_sys_getpid();
}

struct stk_revalidation_queue_slot *
stk_revalidation_queue_reserve(struct stk_revalidation_queue *queue, const struct stk_root *root,
                               const char *below)
{
    uint32_t place;
    if (queue == NULL || !is_for_another(queue) ||
        strlen(below) >= STK_REVALIDATION_QUEUE_PATH_BYTES ||
        !find_root(queue, root->key.low, &place)) {
        return NULL;
    }
    struct stk_revalidation_queue_slot *slot = find_free(queue);
    slot = slot != NULL ? slot : find_abandoned(queue);
    if (slot != NULL) {
        slot->root = place;
        stk_text_copy(slot->below, sizeof slot->below, below);
    }
    return slot;
}

void stk_revalidation_queue_put(struct stk_revalidation_queue *queue,
                                struct stk_revalidation_queue_slot *slot)
{
    atomic_store(&slot->state, WAITING);
    atomic_fetch_add(&queue->count, 1);
    if (atomic_load(&queue->takers_waiting) != 0) {
        stk_sys_futex_wake_one(&queue->count);
    }
}

void stk_revalidation_queue_end(struct stk_revalidation_queue *queue,
                                struct stk_revalidation_queue_slot *slot, bool good)
{
    if (slot != NULL && good) {
        stk_revalidation_queue_put(queue, slot);
    } else if (slot != NULL) {
        atomic_store(&slot->state, FREE);
    }
}

/* ---- taking ---- */

static bool take_one(struct stk_revalidation_queue *queue, uint64_t *root,
                     char below[STK_REVALIDATION_QUEUE_PATH_BYTES])
{
    for (uint32_t i = 0; i < STK_REVALIDATION_QUEUE_SLOTS; i++) {
        struct stk_revalidation_queue_slot *slot = &queue->slots[i];
        uint32_t state = WAITING;
        if (atomic_load_explicit(&slot->state, memory_order_relaxed) == WAITING &&
            atomic_compare_exchange_strong(&slot->state, &state, (uint32_t)stk_sys_getpid())) {
            *root = queue->roots[slot->root % STK_ROOTS];
            memcpy(below, slot->below, STK_REVALIDATION_QUEUE_PATH_BYTES);
            below[STK_REVALIDATION_QUEUE_PATH_BYTES - 1] = '\0';
            atomic_store(&slot->state, FREE);
            return true;
        }
    }
    return false;
}

bool stk_revalidation_queue_take(struct stk_revalidation_queue *queue, uint64_t *root,
                                 char below[STK_REVALIDATION_QUEUE_PATH_BYTES])
{
    for (;;) {
        uint32_t count = atomic_load(&queue->count); /* first, so no wake after it is missed */
        if (atomic_load(&queue->taker) == 0) {
            return false;
        }
        if (take_one(queue, root, below)) {
            return true;
        }
        atomic_fetch_add(&queue->takers_waiting, 1);
        stk_sys_futex_wait(&queue->count, count, LOOK_NS);
        atomic_fetch_sub(&queue->takers_waiting, 1);
    }
}
