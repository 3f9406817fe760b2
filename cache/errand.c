/* Errands. See cache/errand.h. */
#include "cache/errand.h"

#include <string.h>

#include "base/clock.h"
#include "base/sys.h"
#include "base/text.h"
#include "cache/claim.h"
#include "cache/entry.h"

/* How far one is, below the number of its turn: who comes too late finds another. */
enum phase { FREE, MADE, WAITING, LEFT, TAKEN, ANSWERED, GIVEN_UP, PHASES = 8 };

#define PATIENCE_NS  (2 * STK_NS_PER_S)
#define BYTES_PER_S  (16 << 20) /* the least that a tier is worth waiting for */
#define SLICE_NS     (STK_NS_PER_S / 10)
#define STOPPED_NS   STK_NS_PER_S        /* so much longer no slice takes by itself */
#define ASK_NS       (STK_NS_PER_S / 10) /* for a place */
#define PUT_NS       (10 * STK_NS_PER_S) /* the same, where that may be waited for */
#define STEP_NS      (STK_NS_PER_S / 500)
#define FORGOTTEN_NS (10 * STK_NS_PER_S)

static enum phase phase_of(uint32_t state)
{
    return (enum phase)(state % PHASES);
}

static bool go_to(struct stk_errand *errand, uint32_t *state, enum phase phase)
{
    uint32_t next = *state - *state % PHASES + phase;
    if (!atomic_compare_exchange_strong(&errand->state, state, next)) {
        return false;
    }
    *state = next;
    return true;
}

bool stk_errand_path(char out[STK_ERRAND_PATH_BYTES], const struct stk_root *root,
                     const char *below, uint64_t name)
{
    char path[STK_PATH_BYTES];
    return stk_entry_path(path, "", root, below, name) &&
           stk_text_copy(out, STK_ERRAND_PATH_BYTES, path + sizeof STK_ENTRY_TREE - 1);
}

void stk_errands_count(struct stk_errands *errands, enum stk_errands_count what, uint64_t amount)
{
    atomic_fetch_add_explicit(&errands->counts[what], amount, memory_order_relaxed);
}

/* ---- whether anything is asked ---- */

bool stk_errands_are_open(const struct stk_errands *errands)
{
    return errands != NULL &&
           atomic_load_explicit(&errands->state, memory_order_acquire) == STK_ERRANDS_OPEN;
}

bool stk_errands_are_known(const struct stk_errands *errands)
{
    return errands != NULL &&
           atomic_load_explicit(&errands->state, memory_order_acquire) != STK_ERRANDS_NONE;
}

bool stk_errands_have_room(const struct stk_errands *errands)
{
    return stk_errands_are_open(errands) && atomic_load(&errands->counts[STK_ERRANDS_FULL]) == 0;
}

void stk_errands_open(struct stk_errands *errands)
{
    uint32_t none = STK_ERRANDS_NONE;
    atomic_compare_exchange_strong(&errands->state, &none, STK_ERRANDS_OPEN);
}

/* All who wait see it within a slice. */
void stk_errands_close(struct stk_errands *errands, enum stk_errands_state why)
{
    uint32_t none = STK_ERRANDS_NONE, open = STK_ERRANDS_OPEN;
    if (atomic_compare_exchange_strong(&errands->state, &none, why) ||
        atomic_compare_exchange_strong(&errands->state, &open, why)) {
        for (int i = 0; i < 2; i++) {
            atomic_fetch_add(&errands->left[i], 1);
            stk_sys_futex_wake_all(&errands->left[i]);
        }
    }
}

/* ---- leaving one ---- */

/* Who was killed, or stopped, while he waited does not come back for it: its turn is over. What he
 * was still writing stays his. */
static bool is_forgotten(const struct stk_errand *errand, uint32_t state, int64_t now_ns)
{
    return phase_of(state) == ANSWERED && now_ns - atomic_load(&errand->until_ns) > FORGOTTEN_NS;
}

static bool reserve(struct stk_errand *errand, int64_t now_ns, int64_t until_ns, uint32_t *state)
{
    *state = atomic_load_explicit(&errand->state, memory_order_acquire);
    uint32_t next = *state - *state % PHASES + PHASES + MADE;
    if ((phase_of(*state) != FREE && !is_forgotten(errand, *state, now_ns)) ||
        !atomic_compare_exchange_strong(&errand->state, state, next)) {
        return false;
    }
    atomic_store(&errand->until_ns, until_ns);
    *state = next;
    return true;
}

static struct stk_errand *leave(struct stk_errands *errands, const struct stk_errand_wish *wish,
                                int64_t until_ns, uint32_t *state)
{
    int64_t now_ns = stk_clock_boottime_ns();
    uint32_t first = atomic_fetch_add_explicit(&errands->next, 1, memory_order_relaxed);
    bool publishes = wish->kind == STK_ERRAND_PUBLISH;
    uint32_t places = publishes ? STK_ERRAND_PUTS : STK_ERRAND_SLOTS;
    for (uint32_t i = 0; i < places; i++) {
        struct stk_errand *errand = &errands->slots[(first + i) % places];
        if (!reserve(errand, now_ns, until_ns, state)) {
            continue;
        }
        errand->wish = *wish;
        if (!go_to(errand, state, publishes ? LEFT : WAITING)) {
            return NULL;
        }
        atomic_fetch_add(&errands->left[publishes], 1);
        if (atomic_load(&errands->idle[publishes]) != 0) {
            stk_sys_futex_wake_one(&errands->left[publishes]);
        }
        return errand;
    }
    return NULL;
}

/* NULL: there was no place for so long, or nothing is asked any more. */
static struct stk_errand *leave_soon(struct stk_errands *errands,
                                     const struct stk_errand_wish *wish, int64_t wait_ns,
                                     int64_t until_ns, uint32_t *state)
{
    uint32_t nobody = 0;
    int64_t now_ns = stk_clock_boottime_ns(), late_ns = now_ns + wait_ns;
    struct stk_errand *errand = NULL;
    while (stk_errands_are_open(errands) &&
           (errand = leave(errands, wish, until_ns, state)) == NULL && now_ns < late_ns) {
        stk_sys_futex_wait(&nobody, 0, STEP_NS);
        now_ns = stk_clock_boottime_ns();
    }
    return errand;
}

bool stk_errand_put(struct stk_errands *errands, const struct stk_errand_wish *wish)
{
    uint32_t state;
    int64_t wait_ns = atomic_load(&errands->patient) != 0 ? PUT_NS : 0;
    return leave_soon(errands, wish, wait_ns, stk_clock_boottime_ns(), &state) != NULL;
}

/* What is written there at this moment is another's. */
bool stk_errand_is_left(const struct stk_errands *errands, unsigned tier, uint64_t ino)
{
    bool left = false;
    for (uint32_t i = 0; i < STK_ERRAND_PUTS && !left; i++) {
        const struct stk_errand *errand = &errands->slots[i];
        enum phase phase = phase_of(atomic_load_explicit(&errand->state, memory_order_acquire));
        left = (phase == LEFT || phase == TAKEN) && errand->wish.kind == STK_ERRAND_PUBLISH &&
               errand->wish.tier == tier && errand->wish.ino == ino;
    }
    return left;
}

/* Until when to wait: from `last_ns` to now at most a slice was waited. What is more was a stop, as
 * schedulers do it to whole jobs, wherever it came: nobody was late for that. */
static int64_t prolong(int64_t until_ns, int64_t last_ns, int64_t now_ns)
{
    int64_t took_ns = now_ns - last_ns;
    return until_ns + (took_ns > STOPPED_NS ? took_ns - SLICE_NS : 0);
}

/* From `began_ns` until it is answered, or nothing is asked any more. False: the deadline was
 * missed, or the claim on the record was lost. */
static bool wait_for(struct stk_errands *errands, struct stk_errand *errand, uint32_t state,
                     int64_t began_ns, int64_t until_ns, _Atomic uint64_t *claim)
{
    uint32_t answered = state - state % PHASES + ANSWERED, seen = state;
    for (int64_t last_ns = began_ns; seen != answered && stk_errands_are_open(errands);) {
        int64_t now_ns = stk_clock_boottime_ns();
        until_ns = prolong(until_ns, last_ns, now_ns);
        last_ns = now_ns;
        if (now_ns > until_ns) {
            stk_errands_close(errands, STK_ERRANDS_LATE);
        } else if (!stk_claim_advance(claim)) {
            return false;
        } else {
            stk_sys_futex_wait(&errand->state, seen, SLICE_NS);
        }
        seen = atomic_load_explicit(&errand->state, memory_order_acquire);
    }
    return seen == answered;
}

/* Whoever has taken it still may be at it, for ever: it is his to free. */
static void give_up(struct stk_errand *errand, uint32_t state)
{
    uint32_t waiting = state, taken = state - state % PHASES + TAKEN;
    uint32_t answered = state - state % PHASES + ANSWERED;
    if (!go_to(errand, &waiting, FREE) && !go_to(errand, &taken, GIVEN_UP)) {
        go_to(errand, &answered, FREE);
    }
}

enum stk_errand_answer stk_errand_ask(struct stk_errands *errands,
                                      const struct stk_errand_wish *wish, _Atomic uint64_t *claim,
                                      uint64_t *check)
{
    uint32_t state;
    int64_t allowed_ns =
        PATIENCE_NS +
        (int64_t)(wish->kind == STK_ERRAND_FETCH ? wish->bytes / BYTES_PER_S : 0) * STK_NS_PER_S;
    int64_t began_ns = stk_clock_boottime_ns(), until_ns = began_ns + allowed_ns;
    struct stk_errand *errand = leave_soon(errands, wish, ASK_NS, until_ns, &state);
    if (errand == NULL) {
        return STK_ERRAND_NO;
    }
    if (!wait_for(errands, errand, state, began_ns, until_ns, claim)) {
        give_up(errand, state);
        return STK_ERRAND_NO;
    }
    state = state - state % PHASES + ANSWERED;
    uint32_t answer = errand->answer;
    *check = errand->check;
    return go_to(errand, &state, FREE) ? (enum stk_errand_answer)answer : STK_ERRAND_NO;
}

/* ---- taking one ---- */

static bool take_one(struct stk_errands *errands, bool publishes, struct stk_errand_taken *out)
{
    for (uint32_t i = 0; i < STK_ERRAND_SLOTS; i++) {
        struct stk_errand *errand = &errands->slots[i];
        out->state = atomic_load_explicit(&errand->state, memory_order_acquire);
        if (phase_of(out->state) != (publishes ? LEFT : WAITING)) {
            continue;
        }
        out->errand = errand;
        if (go_to(errand, &out->state, TAKEN)) {
            out->wish = errand->wish;
            out->wish.draft[sizeof out->wish.draft - 1] = '\0';
            out->wish.path[sizeof out->wish.path - 1] = '\0';
            return true;
        }
    }
    return false;
}

/* What is to be published is done to its end; what is asked when all is over waits for nothing. */
bool stk_errand_take(struct stk_errands *errands, bool publishes, struct stk_errand_taken *out)
{
    for (;;) {
        uint32_t left = atomic_load(&errands->left[publishes]);
        uint32_t state = atomic_load(&errands->state);
        bool open = state == STK_ERRANDS_OPEN;
        if ((open || (publishes && state == STK_ERRANDS_OVER)) &&
            take_one(errands, publishes, out)) {
            return true;
        }
        if (!open) {
            return false;
        }
        atomic_fetch_add(&errands->idle[publishes], 1);
        stk_sys_futex_wait(&errands->left[publishes], left, STK_NS_PER_S);
        atomic_fetch_sub(&errands->idle[publishes], 1);
    }
}

void stk_errand_answer(struct stk_errand_taken *taken, enum stk_errand_answer answer,
                       uint64_t check)
{
    struct stk_errand *errand = taken->errand;
    uint32_t state = taken->state;
    if (taken->wish.kind != STK_ERRAND_PUBLISH) {
        errand->answer = answer;
        errand->check = check;
        if (go_to(errand, &state, ANSWERED)) {
            stk_sys_futex_wake_all(&errand->state);
            return;
        }
    }
    go_to(errand, &state, FREE); /* given up, or nobody's */
}
