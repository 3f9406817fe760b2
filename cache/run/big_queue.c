#include "cache/run/big_queue.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/sys.h"
#include "base/text.h"

#define LOOK_NS     (STK_NS_PER_S / 10) /* a wake-up can be lost */
#define PATIENCE_NS (5 * STK_NS_PER_S)
#define QUIET_NS    (STK_NS_PER_S / 10) /* without a read: the job does something else */
#define SILENCE_NS                                                                                 \
    (2 * STK_NS_PER_S) /* without an answer: the asking process may have been killed */

#define OVER (STK_BIG_QUEUE_DONE | STK_BIG_QUEUE_LEFT)

enum state { FREE, WRITTEN, QUEUED };
enum holds { HOLDS_NOT, HOLDS, HOLDS_IN_VAIN };

/* A word, taken apart. */
struct word {
    enum state state;
    uint32_t marks, pid, turn;
};

static struct word unpack(uint64_t word)
{
    return (struct word){(enum state)(word & 3), word >> 2 & 63, word >> 8 & 0xffffff,
                         (uint32_t)(word >> 32)};
}

static uint64_t pack(struct word word)
{
    return (uint64_t)word.state | (uint64_t)(word.marks & 63) << 2 |
           (uint64_t)(word.pid & 0xffffff) << 8 | (uint64_t)word.turn << 32;
}

static struct word load(const struct stk_big_queue_slot *slot)
{
    return unpack(atomic_load_explicit(&slot->word, memory_order_acquire));
}

static bool change(struct stk_big_queue_slot *slot, struct word seen, struct word wanted)
{
    uint64_t expected = pack(seen);
    return atomic_compare_exchange_strong(&slot->word, &expected, pack(wanted));
}

static uint64_t ticket_of(const struct stk_big_queue *queue, const struct stk_big_queue_slot *slot,
                          struct word word)
{
    return (uint64_t)word.turn << 32 | (uint64_t)(slot - queue->slots + 1);
}

/* The slot of a ticket, and what its word is; NULL: it is another file's by now. */
static struct stk_big_queue_slot *slot_of(struct stk_big_queue *queue, uint64_t ticket,
                                          struct word *word)
{
    uint32_t number = (uint32_t)ticket;
    if (queue == NULL || number == 0 || number > STK_BIG_QUEUE_SLOTS) {
        return NULL;
    }
    *word = load(&queue->slots[number - 1]);
    return word->state == QUEUED && word->turn == ticket >> 32 ? &queue->slots[number - 1] : NULL;
}

/* ---- telling ---- */

static void wake(struct stk_big_queue *queue)
{
    atomic_fetch_add(&queue->count, 1);
    stk_sys_futex_wake_all(&queue->count);
}

static struct stk_big_queue_slot *find(struct stk_big_queue *queue, uint64_t key)
{
    for (unsigned i = 0; i < STK_BIG_QUEUE_SLOTS; i++) {
        if (load(&queue->slots[i]).state == QUEUED && queue->slots[i].key == key) {
            return &queue->slots[i];
        }
    }
    return NULL;
}

/* How gladly a slot is given to another file; 0: not at all. */
static int worth(struct word word)
{
    bool done = (word.marks & OVER) != 0;
    if (word.state == WRITTEN) {
        return stk_sys_process_exists((pid_t)word.pid) ? 0 : 3;
    }
    if (word.state == FREE) {
        return 4;
    }
    return !done ? 0 : (word.marks & STK_BIG_QUEUE_MAPPED) != 0 ? 1 : 2;
}

static struct stk_big_queue_slot *best_slot(struct stk_big_queue *queue, struct word *word)
{
    struct stk_big_queue_slot *best = NULL;
    int most = 0;
    for (unsigned i = 0; i < STK_BIG_QUEUE_SLOTS && most < 4; i++) {
        struct word seen = load(&queue->slots[i]);
        int now = worth(seen);
        if (now > most) {
            best = &queue->slots[i];
            *word = seen;
            most = now;
        }
    }
    return best;
}

static uint64_t tell_new(struct stk_big_queue *queue, uint64_t key, uint64_t root,
                         const char *below)
{
    struct word seen = {FREE, 0, 0, 0}, mine;
    struct stk_big_queue_slot *slot = best_slot(queue, &seen);
    if (slot == NULL) {
        return 0;
    }
    mine = (struct word){WRITTEN, 0, (uint32_t)stk_sys_getpid(), seen.turn + 1};
    if (!change(slot, seen, mine)) {
        return 0;
    }
    if (seen.state == QUEUED && (seen.marks & STK_BIG_QUEUE_MAPPED) != 0) {
        atomic_fetch_add(&queue->more, 1);
    }
    slot->key = key;
    slot->root = root;
    stk_text_copy(slot->below, sizeof slot->below, below);
    struct word wanted = mine;
    wanted.state = QUEUED;
    return change(slot, mine, wanted) ? ticket_of(queue, slot, wanted) : 0;
}

uint64_t stk_big_queue_add(struct stk_big_queue *queue, uint64_t key, uint64_t root,
                           const char *below)
{
    if (queue == NULL || atomic_load(&queue->wanted) == 0 ||
        strlen(below) >= STK_BIG_QUEUE_PATH_BYTES) {
        return 0;
    }
    struct stk_big_queue_slot *slot = find(queue, key);
    if (slot == NULL) {
        return tell_new(queue, key, root, below);
    }
    struct word word = load(slot), again = word;
    if ((word.marks & OVER) != 0) {
        again.marks &= ~(uint32_t)OVER;
        again.turn++; /* or a later look would find what an earlier one has seen */
    }
    bool wanted = word.state == QUEUED && (again.turn == word.turn || change(slot, word, again));
    return wanted ? ticket_of(queue, slot, again) : 0;
}

bool stk_big_queue_mark(struct stk_big_queue *queue, uint64_t ticket, uint32_t marks)
{
    struct word word;
    struct stk_big_queue_slot *slot = slot_of(queue, ticket, &word);
    while (slot != NULL && (word.marks & marks) != marks) {
        struct word marked = word;
        marked.marks |= marks;
        if (change(slot, word, marked)) {
            wake(queue);
            return true;
        }
        slot = slot_of(queue, ticket, &word);
    }
    return slot != NULL;
}

/* ---- waiting ---- */

bool stk_big_queue_holds(const struct stk_big_queue *queue)
{
    return queue != NULL && atomic_load(&queue->holds) == HOLDS;
}

static void change_holds(struct stk_big_queue *queue, uint32_t from, uint32_t to)
{
    if (atomic_load(&queue->holds) == from) {
        atomic_compare_exchange_strong(&queue->holds, &from, to);
    }
}

static bool is_hopeless(struct stk_big_queue *queue, uint64_t ticket)
{
    struct word word;
    return !stk_big_queue_holds(queue) || slot_of(queue, ticket, &word) == NULL ||
           (word.marks & STK_BIG_QUEUE_LEFT) != 0;
}

static bool wait_for(struct stk_big_queue *queue, uint64_t ticket, const _Atomic uint32_t *whole)
{
    int64_t moved_ns = stk_clock_boottime_ns();
    uint32_t steps = atomic_load(&queue->steps);
    while (atomic_load(whole) == 0) {
        if (stk_clock_boottime_ns() - moved_ns > PATIENCE_NS) {
            change_holds(queue, HOLDS, HOLDS_IN_VAIN);
        }
        if (is_hopeless(queue, ticket) ||
            stk_sys_futex_wait(&queue->steps, steps, LOOK_NS) == -EINTR) {
            return atomic_load(whole) != 0;
        }
        uint32_t now = atomic_load(&queue->steps);
        moved_ns = now != steps ? stk_clock_boottime_ns() : moved_ns;
        steps = now;
    }
    return true;
}

bool stk_big_queue_wait(struct stk_big_queue *queue, uint64_t ticket, const _Atomic uint32_t *whole)
{
    atomic_fetch_add(&queue->waiting, 1);
    bool came = wait_for(queue, ticket, whole);
    atomic_fetch_sub(&queue->waiting, 1);
    return came;
}

/* ---- reading ---- */

void stk_big_queue_note_reading(struct stk_big_queue *queue, enum stk_big_queue_reading what)
{
    if (queue != NULL && atomic_load_explicit(&queue->finished, memory_order_relaxed) != 0) {
        atomic_fetch_add_explicit(&queue->reading, (int)what, memory_order_relaxed);
        atomic_store_explicit(&queue->read_ns, stk_clock_boottime_ns(), memory_order_relaxed);
    }
}

/* One under way says nothing for as long as the origin takes for its answer. */
bool stk_big_queue_is_reading(const struct stk_big_queue *queue)
{
    int64_t past_ns = stk_clock_boottime_ns() - atomic_load(&queue->read_ns);
    return past_ns < (atomic_load(&queue->reading) > 0 ? SILENCE_NS : QUIET_NS);
}

/* ---- finishing ---- */

void stk_big_queue_open(struct stk_big_queue *queue, bool finished, bool holds)
{
    atomic_store(&queue->finished, finished);
    atomic_store(&queue->holds, finished && holds ? HOLDS : HOLDS_NOT);
    atomic_store(&queue->wanted, 1);
}

void stk_big_queue_close(struct stk_big_queue *queue)
{
    atomic_store(&queue->finished, 0);
    atomic_store(&queue->holds, HOLDS_NOT);
    atomic_fetch_add(&queue->steps, 1);
    stk_sys_futex_wake_all(&queue->steps);
    wake(queue);
}

/* A read slot counts if no process has written it meanwhile. */
bool stk_big_queue_look(struct stk_big_queue *queue, unsigned number,
                        struct stk_big_queue_file *out)
{
    const struct stk_big_queue_slot *slot = &queue->slots[number];
    struct word word = load(slot);
    out->ticket = ticket_of(queue, slot, word);
    out->marks = word.marks;
    out->root = slot->root;
    memcpy(out->below, slot->below, sizeof out->below);
    out->below[sizeof out->below - 1] = '\0';
    struct word after = load(slot);
    return word.state == QUEUED && after.state == QUEUED && after.turn == word.turn;
}

void stk_big_queue_free(struct stk_big_queue *queue, uint64_t ticket)
{
    struct word word;
    struct stk_big_queue_slot *slot = slot_of(queue, ticket, &word);
    if (slot != NULL && (word.marks & STK_BIG_QUEUE_MAPPED) == 0) {
        change(slot, word, (struct word){FREE, 0, 0, word.turn});
    }
}

void stk_big_queue_step(struct stk_big_queue *queue)
{
    atomic_fetch_add(&queue->steps, 1);
    change_holds(queue, HOLDS_IN_VAIN, HOLDS);
    if (atomic_load(&queue->waiting) != 0) {
        stk_sys_futex_wake_all(&queue->steps);
    }
}
