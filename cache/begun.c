/* Big files that were begun. See cache/begun.h. */
#include "cache/begun.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/sys.h"
#include "base/text.h"

#define LOOK_NS     (STK_NS_PER_S / 10) /* a wake-up can be lost */
#define PATIENCE_NS (5 * STK_NS_PER_S)
#define QUIET_NS    (STK_NS_PER_S / 10) /* without a read: the job does something else */
#define SILENCE_NS  (2 * STK_NS_PER_S)  /* without an answer: who asked may have been killed */

#define OVER (STK_BEGUN_DONE | STK_BEGUN_LEFT)

enum state { FREE, WRITTEN, TOLD };
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

static struct word load(const struct stk_begun_slot *slot)
{
    return unpack(atomic_load_explicit(&slot->word, memory_order_acquire));
}

static bool change(struct stk_begun_slot *slot, struct word seen, struct word wanted)
{
    uint64_t expected = pack(seen);
    return atomic_compare_exchange_strong(&slot->word, &expected, pack(wanted));
}

static uint64_t ticket_of(const struct stk_begun *begun, const struct stk_begun_slot *slot,
                          struct word word)
{
    return (uint64_t)word.turn << 32 | (uint64_t)(slot - begun->slots + 1);
}

/* The slot of a ticket, and what its word is; NULL: it is another file's by now. */
static struct stk_begun_slot *slot_of(struct stk_begun *begun, uint64_t ticket, struct word *word)
{
    uint32_t number = (uint32_t)ticket;
    if (begun == NULL || number == 0 || number > STK_BEGUN_SLOTS) {
        return NULL;
    }
    *word = load(&begun->slots[number - 1]);
    return word->state == TOLD && word->turn == ticket >> 32 ? &begun->slots[number - 1] : NULL;
}

/* ---- telling ---- */

static void wake(struct stk_begun *begun)
{
    atomic_fetch_add(&begun->count, 1);
    stk_sys_futex_wake_all(&begun->count);
}

static struct stk_begun_slot *find(struct stk_begun *begun, uint64_t key)
{
    for (unsigned i = 0; i < STK_BEGUN_SLOTS; i++) {
        if (load(&begun->slots[i]).state == TOLD && begun->slots[i].key == key) {
            return &begun->slots[i];
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
    return !done ? 0 : (word.marks & STK_BEGUN_MAPPED) != 0 ? 1 : 2;
}

static struct stk_begun_slot *best_slot(struct stk_begun *begun, struct word *word)
{
    struct stk_begun_slot *best = NULL;
    int most = 0;
    for (unsigned i = 0; i < STK_BEGUN_SLOTS && most < 4; i++) {
        struct word seen = load(&begun->slots[i]);
        int now = worth(seen);
        if (now > most) {
            best = &begun->slots[i];
            *word = seen;
            most = now;
        }
    }
    return best;
}

static uint64_t tell_new(struct stk_begun *begun, uint64_t key, uint64_t root, const char *below)
{
    struct word seen = {FREE, 0, 0, 0}, mine;
    struct stk_begun_slot *slot = best_slot(begun, &seen);
    if (slot == NULL) {
        return 0;
    }
    mine = (struct word){WRITTEN, 0, (uint32_t)stk_sys_getpid(), seen.turn + 1};
    if (!change(slot, seen, mine)) {
        return 0;
    }
    if (seen.state == TOLD && (seen.marks & STK_BEGUN_MAPPED) != 0) {
        atomic_fetch_add(&begun->more, 1);
    }
    slot->key = key;
    slot->root = root;
    stk_text_copy(slot->below, sizeof slot->below, below);
    struct word told = mine;
    told.state = TOLD;
    return change(slot, mine, told) ? ticket_of(begun, slot, told) : 0;
}

uint64_t stk_begun_tell(struct stk_begun *begun, uint64_t key, uint64_t root, const char *below)
{
    if (begun == NULL || atomic_load(&begun->told) == 0 || strlen(below) >= STK_BEGUN_PATH_BYTES) {
        return 0;
    }
    struct stk_begun_slot *slot = find(begun, key);
    if (slot == NULL) {
        return tell_new(begun, key, root, below);
    }
    struct word word = load(slot), again = word;
    if ((word.marks & OVER) != 0) {
        again.marks &= ~(uint32_t)OVER;
        again.turn++; /* or who looks later would find what it has seen before */
    }
    bool told = word.state == TOLD && (again.turn == word.turn || change(slot, word, again));
    return told ? ticket_of(begun, slot, again) : 0;
}

bool stk_begun_mark(struct stk_begun *begun, uint64_t ticket, uint32_t marks)
{
    struct word word;
    struct stk_begun_slot *slot = slot_of(begun, ticket, &word);
    while (slot != NULL && (word.marks & marks) != marks) {
        struct word marked = word;
        marked.marks |= marks;
        if (change(slot, word, marked)) {
            wake(begun);
            return true;
        }
        slot = slot_of(begun, ticket, &word);
    }
    return slot != NULL;
}

/* ---- waiting ---- */

bool stk_begun_holds(const struct stk_begun *begun)
{
    return begun != NULL && atomic_load(&begun->holds) == HOLDS;
}

static void change_holds(struct stk_begun *begun, uint32_t from, uint32_t to)
{
    if (atomic_load(&begun->holds) == from) {
        atomic_compare_exchange_strong(&begun->holds, &from, to);
    }
}

static bool is_hopeless(struct stk_begun *begun, uint64_t ticket)
{
    struct word word;
    return !stk_begun_holds(begun) || slot_of(begun, ticket, &word) == NULL ||
           (word.marks & STK_BEGUN_LEFT) != 0;
}

static bool wait_for(struct stk_begun *begun, uint64_t ticket, const _Atomic uint32_t *whole)
{
    int64_t moved_ns = stk_clock_boottime_ns();
    uint32_t steps = atomic_load(&begun->steps);
    while (atomic_load(whole) == 0) {
        if (stk_clock_boottime_ns() - moved_ns > PATIENCE_NS) {
            change_holds(begun, HOLDS, HOLDS_IN_VAIN);
        }
        if (is_hopeless(begun, ticket) ||
            stk_sys_futex_wait(&begun->steps, steps, LOOK_NS) == -EINTR) {
            return atomic_load(whole) != 0;
        }
        uint32_t now = atomic_load(&begun->steps);
        moved_ns = now != steps ? stk_clock_boottime_ns() : moved_ns;
        steps = now;
    }
    return true;
}

bool stk_begun_wait(struct stk_begun *begun, uint64_t ticket, const _Atomic uint32_t *whole)
{
    atomic_fetch_add(&begun->waiting, 1);
    bool came = wait_for(begun, ticket, whole);
    atomic_fetch_sub(&begun->waiting, 1);
    return came;
}

/* ---- reading ---- */

void stk_begun_note_reading(struct stk_begun *begun, enum stk_begun_reading what)
{
    if (begun != NULL && atomic_load_explicit(&begun->finished, memory_order_relaxed) != 0) {
        atomic_fetch_add_explicit(&begun->reading, (int)what, memory_order_relaxed);
        atomic_store_explicit(&begun->read_ns, stk_clock_boottime_ns(), memory_order_relaxed);
    }
}

/* One under way says nothing for as long as the origin takes for its answer. */
bool stk_begun_is_reading(const struct stk_begun *begun)
{
    int64_t past_ns = stk_clock_boottime_ns() - atomic_load(&begun->read_ns);
    return past_ns < (atomic_load(&begun->reading) > 0 ? SILENCE_NS : QUIET_NS);
}

/* ---- finishing ---- */

void stk_begun_open(struct stk_begun *begun, bool finished, bool holds)
{
    atomic_store(&begun->finished, finished);
    atomic_store(&begun->holds, finished && holds ? HOLDS : HOLDS_NOT);
    atomic_store(&begun->told, 1);
}

void stk_begun_close(struct stk_begun *begun)
{
    atomic_store(&begun->finished, 0);
    atomic_store(&begun->holds, HOLDS_NOT);
    atomic_fetch_add(&begun->steps, 1);
    stk_sys_futex_wake_all(&begun->steps);
    wake(begun);
}

/* What was read of a slot counts if nobody has written it meanwhile. */
bool stk_begun_look(struct stk_begun *begun, unsigned number, struct stk_begun_file *out)
{
    const struct stk_begun_slot *slot = &begun->slots[number];
    struct word word = load(slot);
    out->ticket = ticket_of(begun, slot, word);
    out->marks = word.marks;
    out->root = slot->root;
    memcpy(out->below, slot->below, sizeof out->below);
    out->below[sizeof out->below - 1] = '\0';
    struct word after = load(slot);
    return word.state == TOLD && after.state == TOLD && after.turn == word.turn;
}

void stk_begun_free(struct stk_begun *begun, uint64_t ticket)
{
    struct word word;
    struct stk_begun_slot *slot = slot_of(begun, ticket, &word);
    if (slot != NULL && (word.marks & STK_BEGUN_MAPPED) == 0) {
        change(slot, word, (struct word){FREE, 0, 0, word.turn});
    }
}

void stk_begun_step(struct stk_begun *begun)
{
    atomic_fetch_add(&begun->steps, 1);
    change_holds(begun, HOLDS_IN_VAIN, HOLDS);
    if (atomic_load(&begun->waiting) != 0) {
        stk_sys_futex_wake_all(&begun->steps);
    }
}
