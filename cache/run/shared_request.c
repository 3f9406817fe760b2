#include "cache/run/shared_request.h"

#include "base/clock.h"
#include "base/invariant.h"
#include "base/sys.h"
#include "cache/catalogue/claim.h"

/* How far a request is; above it the state counts the slot's uses, so that a late process notices
 * the next use. */
enum phase { FREE, MADE, WAITING, QUEUED, TAKEN, ANSWERED, GIVEN_UP, PHASES = 8 };

#define PATIENCE_NS  (2 * STK_NS_PER_S)
#define BYTES_PER_S  (16 << 20) /* the least that a tier is worth waiting for */
#define SLICE_NS     (STK_NS_PER_S / 10)
#define STOPPED_NS   STK_NS_PER_S        /* so much longer no slice takes by itself */
#define ASK_NS       STK_NS_PER_S        /* for a place */
#define PUT_NS       (10 * STK_NS_PER_S) /* the same, where that may be waited for */
#define STEP_NS      (STK_NS_PER_S / 500)
#define FORGOTTEN_NS (10 * STK_NS_PER_S)

static enum phase phase_of(uint32_t state)
{
    return (enum phase)(state % PHASES);
}

/* Returns true if a slot may go from one phase to the other; reserve() makes a request in a free
 * one. */
__attribute__((unused)) static bool may_follow(enum phase seen, enum phase next)
{
    static const uint8_t follow[PHASES] = {[MADE] = 1 << WAITING | 1 << QUEUED,
                                           [WAITING] = 1 << TAKEN | 1 << FREE,
                                           [QUEUED] = 1 << TAKEN,
                                           [TAKEN] = 1 << ANSWERED | 1 << GIVEN_UP | 1 << FREE,
                                           [ANSWERED] = 1 << FREE,
                                           [GIVEN_UP] = 1 << FREE};
    return (follow[seen] & 1 << next) != 0;
}

static bool go_to(struct stk_shared_request *request, uint32_t *state, enum phase phase)
{
    uint32_t next = *state - *state % PHASES + phase;
    if (!atomic_compare_exchange_strong(&request->state, state, next)) {
        return false;
    }
    STK_INVARIANT(may_follow(phase_of(*state), phase));
    *state = next;
    return true;
}

void stk_shared_requests_count(struct stk_shared_requests *requests,
                               enum stk_shared_requests_count what, uint64_t amount)
{
    atomic_fetch_add_explicit(&requests->counts[what], amount, memory_order_relaxed);
}

/* ---- whether anything is asked ---- */

static enum stk_shared_requests_state state_of(const struct stk_shared_requests *requests)
{
    return requests != NULL ? (enum stk_shared_requests_state)atomic_load_explicit(
                                  &requests->state, memory_order_acquire)
                            : STK_SHARED_REQUESTS_NONE;
}

bool stk_shared_requests_are_open(const struct stk_shared_requests *requests)
{
    return state_of(requests) == STK_SHARED_REQUESTS_OPEN;
}

bool stk_shared_requests_are_open_since(const struct stk_shared_requests *requests, int64_t at_ns)
{
    return stk_shared_requests_are_open(requests) && atomic_load(&requests->paused_ns) < at_ns;
}

bool stk_shared_requests_are_paused(const struct stk_shared_requests *requests)
{
    enum stk_shared_requests_state state = state_of(requests);
    return state == STK_SHARED_REQUESTS_LATE || state == STK_SHARED_REQUESTS_FAILED;
}

bool stk_shared_requests_go_on(const struct stk_shared_requests *requests)
{
    return stk_shared_requests_are_open(requests) || stk_shared_requests_are_paused(requests);
}

bool stk_shared_requests_are_known(const struct stk_shared_requests *requests)
{
    return state_of(requests) != STK_SHARED_REQUESTS_NONE;
}

bool stk_shared_requests_have_room(const struct stk_shared_requests *requests)
{
    return stk_shared_requests_are_open(requests) &&
           atomic_load(&requests->counts[STK_SHARED_REQUESTS_FULL]) == 0;
}

bool stk_shared_requests_spare_opens(const struct stk_shared_requests *requests)
{
    return stk_shared_requests_are_open(requests) && atomic_load(&requests->spares) != 0;
}

void stk_shared_requests_open(struct stk_shared_requests *requests)
{
    uint32_t none = STK_SHARED_REQUESTS_NONE;
    atomic_compare_exchange_strong(&requests->state, &none, STK_SHARED_REQUESTS_OPEN);
}

static void wake_takers(struct stk_shared_requests *requests, int publishes)
{
    atomic_fetch_add(&requests->queued[publishes], 1);
    stk_sys_futex_wake_all(&requests->queued[publishes]);
}

static void wake_all(struct stk_shared_requests *requests)
{
    stk_sys_futex_wake_all(&requests->state);
    wake_takers(requests, 0);
    wake_takers(requests, 1);
}

/* All waiters see it within a slice. */
void stk_shared_requests_pause(struct stk_shared_requests *requests,
                               enum stk_shared_requests_state why)
{
    uint32_t none = STK_SHARED_REQUESTS_NONE, open = STK_SHARED_REQUESTS_OPEN;
    if (atomic_compare_exchange_strong(&requests->state, &none, why) ||
        atomic_compare_exchange_strong(&requests->state, &open, why)) {
        atomic_store(&requests->paused_ns, stk_clock_boottime_ns());
        stk_shared_requests_count(requests, STK_SHARED_REQUESTS_PAUSES, 1);
        stk_sys_futex_wake_all(&requests->state);
    }
}

void stk_shared_requests_resume(struct stk_shared_requests *requests)
{
    uint32_t late = STK_SHARED_REQUESTS_LATE, failed = STK_SHARED_REQUESTS_FAILED;
    if (atomic_compare_exchange_strong(&requests->state, &late, STK_SHARED_REQUESTS_OPEN) ||
        atomic_compare_exchange_strong(&requests->state, &failed, STK_SHARED_REQUESTS_OPEN)) {
        wake_all(requests);
    }
}

void stk_shared_requests_hurry(struct stk_shared_requests *requests)
{
    atomic_store(&requests->hurry, 1);
    stk_sys_futex_wake_all(&requests->hurry);
}

enum stk_shared_requests_state stk_shared_requests_close(struct stk_shared_requests *requests)
{
    uint32_t before = atomic_exchange(&requests->state, STK_SHARED_REQUESTS_OVER);
    wake_all(requests);
    return (enum stk_shared_requests_state)before;
}

void stk_shared_requests_end_sweeps(struct stk_shared_requests *requests)
{
    atomic_store(&requests->sweeps, 0);
    wake_takers(requests, 1);
}

/* ---- leaving one ---- */

/* Returns true if the asker died or stopped and will not collect its answer. A slot that is still
 * being written is not reclaimed. */
static bool is_forgotten(const struct stk_shared_request *request, uint32_t state, int64_t now_ns)
{
    return phase_of(state) == ANSWERED && now_ns - atomic_load(&request->until_ns) > FORGOTTEN_NS;
}

static bool reserve(struct stk_shared_request *request, int64_t now_ns, int64_t until_ns,
                    uint32_t *state)
{
    *state = atomic_load_explicit(&request->state, memory_order_acquire);
    uint32_t next = *state - *state % PHASES + PHASES + MADE;
    if ((phase_of(*state) != FREE && !is_forgotten(request, *state, now_ns)) ||
        !atomic_compare_exchange_strong(&request->state, state, next)) {
        return false;
    }
    atomic_store(&request->until_ns, until_ns);
    *state = next;
    return true;
}

static uint32_t places_for(enum stk_shared_request_kind kind)
{
    return kind == STK_SHARED_REQUEST_PUBLISH ? STK_SHARED_REQUEST_PUTS : STK_SHARED_REQUEST_SLOTS;
}

/* In one of the first `places` slots. */
static struct stk_shared_request *enqueue(struct stk_shared_requests *requests,
                                          const struct stk_shared_request_spec *spec,
                                          uint32_t places, int64_t until_ns, uint32_t *state)
{
    int64_t now_ns = stk_clock_boottime_ns();
    uint32_t first = atomic_fetch_add_explicit(&requests->next, 1, memory_order_relaxed);
    bool publishes = spec->kind == STK_SHARED_REQUEST_PUBLISH;
    for (uint32_t i = 0; i < places; i++) {
        struct stk_shared_request *request = &requests->slots[(first + i) % places];
        if (!reserve(request, now_ns, until_ns, state)) {
            continue;
        }
        request->spec = *spec;
        if (!go_to(request, state, publishes ? QUEUED : WAITING)) {
            return NULL;
        }
        atomic_fetch_add(&requests->queued[publishes], 1);
        if (atomic_load(&requests->idle[publishes]) != 0) {
            stk_sys_futex_wake_one(&requests->queued[publishes]);
        }
        return request;
    }
    return NULL;
}

/* NULL: there was no place for so long, or nothing is asked any more. */
static struct stk_shared_request *enqueue_soon(struct stk_shared_requests *requests,
                                               const struct stk_shared_request_spec *spec,
                                               int64_t wait_ns, int64_t until_ns, uint32_t *state)
{
    uint32_t nobody = 0;
    int64_t now_ns = stk_clock_boottime_ns(), late_ns = now_ns + wait_ns;
    struct stk_shared_request *request = NULL;
    while (stk_shared_requests_are_open(requests) &&
           (request = enqueue(requests, spec, places_for(spec->kind), until_ns, state)) == NULL &&
           now_ns < late_ns) {
        stk_sys_futex_wait(&nobody, 0, STEP_NS);
        now_ns = stk_clock_boottime_ns();
    }
    return request;
}

void stk_shared_request_queue(struct stk_shared_requests *requests,
                              const struct stk_shared_request_spec *spec)
{
    uint32_t state;
    int64_t wait_ns = atomic_load(&requests->patient) != 0 ? PUT_NS : 0;
    if (enqueue_soon(requests, spec, wait_ns, stk_clock_boottime_ns(), &state) == NULL) {
        stk_shared_requests_count(requests, STK_SHARED_REQUESTS_DROPPED, 1);
    }
}

static bool are_published(const struct stk_shared_requests *requests)
{
    enum stk_shared_requests_state state = state_of(requests);
    return state == STK_SHARED_REQUESTS_OPEN || state == STK_SHARED_REQUESTS_OVER;
}

/* The other half of the slots is for what the job leaves meanwhile. */
void stk_shared_request_add(struct stk_shared_requests *requests,
                            const struct stk_shared_request_spec *spec)
{
    uint32_t state, nobody = 0;
    while (are_published(requests) && enqueue(requests, spec, STK_SHARED_REQUEST_PUTS / 2,
                                              stk_clock_boottime_ns(), &state) == NULL) {
        stk_sys_futex_wait(&nobody, 0, STEP_NS);
    }
}

/* Returns true if a slot has a PUBLISH that is not done. A slot that is being written at this
 * moment is another request's. */
static bool is_left(const struct stk_shared_request *request)
{
    enum phase phase = phase_of(atomic_load_explicit(&request->state, memory_order_acquire));
    return (phase == QUEUED || phase == TAKEN) && request->spec.kind == STK_SHARED_REQUEST_PUBLISH;
}

void stk_shared_requests_count_left(struct stk_shared_requests *requests)
{
    for (uint32_t i = 0; i < STK_SHARED_REQUEST_PUTS; i++) {
        if (is_left(&requests->slots[i])) {
            stk_shared_requests_count(requests, STK_SHARED_REQUESTS_DROPPED, 1);
        }
    }
}

bool stk_shared_request_is_queued(const struct stk_shared_requests *requests, unsigned tier,
                                  uint64_t ino)
{
    bool queued = false;
    for (uint32_t i = 0; i < STK_SHARED_REQUEST_PUTS && !queued; i++) {
        const struct stk_shared_request *request = &requests->slots[i];
        queued = is_left(request) && request->spec.tier == tier && request->spec.ino == ino;
    }
    return queued;
}

/* The time for which an asker waits. */
struct patience {
    int64_t last_ns, until_ns;
    bool was_stopped; /* once that moves the deadline, or it would be none on a busy machine */
};

/* Returns false if the deadline was missed. Since the last look at most a slice was waited; any
 * more was a stop, as schedulers stop whole jobs, and the helper was not late for that. */
static bool has_patience(struct patience *patience)
{
    int64_t now_ns = stk_clock_boottime_ns(), took_ns = now_ns - patience->last_ns;
    if (took_ns > STOPPED_NS && !patience->was_stopped) {
        patience->was_stopped = true;
        patience->until_ns += took_ns - SLICE_NS;
    }
    patience->last_ns = now_ns;
    return now_ns <= patience->until_ns;
}

/* Waits until the request is answered, or nothing is asked any more. Returns false if the deadline
 * was missed, or the claim on the record was lost. */
static bool wait_for(struct stk_shared_requests *requests, struct stk_shared_request *request,
                     uint32_t state, struct patience *patience, _Atomic uint64_t *claim)
{
    uint32_t answered = state - state % PHASES + ANSWERED, seen = state;
    while (seen != answered && stk_shared_requests_are_open(requests)) {
        if (!has_patience(patience)) {
            stk_shared_requests_pause(requests, STK_SHARED_REQUESTS_LATE);
            return false;
        }
        if (!stk_claim_advance(claim)) {
            return false;
        }
        stk_sys_futex_wait(&request->state, seen, SLICE_NS);
        seen = atomic_load_explicit(&request->state, memory_order_acquire);
    }
    return seen == answered;
}

/* The helper that has taken the request may still be at it, for ever: the helper frees it. */
static void give_up(struct stk_shared_request *request, uint32_t state)
{
    uint32_t waiting = state, taken = state - state % PHASES + TAKEN;
    uint32_t answered = state - state % PHASES + ANSWERED;
    if (!go_to(request, &waiting, FREE) && !go_to(request, &taken, GIVEN_UP)) {
        go_to(request, &answered, FREE);
    }
}

static int64_t allowed_ns(const struct stk_shared_request_spec *spec)
{
    bool copies = spec->kind == STK_SHARED_REQUEST_FETCH;
    return PATIENCE_NS + (int64_t)(copies ? spec->bytes / BYTES_PER_S : 0) * STK_NS_PER_S;
}

static enum stk_shared_request_answer ask(struct stk_shared_requests *requests,
                                          const struct stk_shared_request_spec *spec,
                                          struct patience *patience, _Atomic uint64_t *claim,
                                          uint64_t *check)
{
    uint32_t state;
    struct stk_shared_request *request =
        enqueue_soon(requests, spec, ASK_NS, patience->until_ns, &state);
    if (request == NULL) {
        return STK_SHARED_REQUEST_NO;
    }
    if (!wait_for(requests, request, state, patience, claim)) {
        give_up(request, state);
        return STK_SHARED_REQUEST_NO;
    }
    state = state - state % PHASES + ANSWERED;
    uint32_t answer = request->answer;
    *check = request->check;
    return go_to(request, &state, FREE) ? (enum stk_shared_request_answer)answer
                                        : STK_SHARED_REQUEST_NO;
}

enum stk_shared_request_answer stk_shared_request_ask(struct stk_shared_requests *requests,
                                                      const struct stk_shared_request_spec *spec,
                                                      _Atomic uint64_t *claim, int64_t *waited_ns,
                                                      uint64_t *check)
{
    int64_t began_ns = stk_clock_boottime_ns();
    struct patience patience = {began_ns, began_ns + allowed_ns(spec) - *waited_ns, false};
    enum stk_shared_request_answer answer = ask(requests, spec, &patience, claim, check);
    has_patience(&patience); /* the process may have been stopped until the answer was there */
    *waited_ns = allowed_ns(spec) - (patience.until_ns - patience.last_ns);
    return answer;
}

/* ---- taking one ---- */

static bool take_one(struct stk_shared_requests *requests, bool publishes,
                     struct stk_shared_request_taken *out)
{
    for (uint32_t i = 0; i < STK_SHARED_REQUEST_SLOTS; i++) {
        struct stk_shared_request *request = &requests->slots[i];
        out->state = atomic_load_explicit(&request->state, memory_order_acquire);
        if (phase_of(out->state) != (publishes ? QUEUED : WAITING)) {
            continue;
        }
        out->request = request;
        if (go_to(request, &out->state, TAKEN)) {
            out->spec = request->spec;
            out->spec.draft[sizeof out->spec.draft - 1] = '\0';
            out->spec.path[sizeof out->spec.path - 1] = '\0';
            return true;
        }
    }
    return false;
}

/* Requests to publish are all done; other requests end with the run. While the requests are paused,
 * none is taken. */
bool stk_shared_request_take(struct stk_shared_requests *requests, bool publishes,
                             struct stk_shared_request_taken *out)
{
    for (;;) {
        uint32_t queued = atomic_load(&requests->queued[publishes]);
        bool more = atomic_load(&requests->sweeps) != 0;
        bool lasts = stk_shared_requests_go_on(requests);
        bool serves =
            stk_shared_requests_are_open(requests) || (publishes && are_published(requests));
        if (serves && take_one(requests, publishes, out)) {
            return true;
        }
        if (!lasts && !(serves && more)) {
            return false;
        }
        atomic_fetch_add(&requests->idle[publishes], 1);
        stk_sys_futex_wait(&requests->queued[publishes], queued, STK_NS_PER_S);
        atomic_fetch_sub(&requests->idle[publishes], 1);
    }
}

void stk_shared_request_answer(struct stk_shared_request_taken *taken,
                               enum stk_shared_request_answer answer, uint64_t check)
{
    struct stk_shared_request *request = taken->request;
    uint32_t state = taken->state;
    if (taken->spec.kind != STK_SHARED_REQUEST_PUBLISH) {
        request->answer = answer;
        request->check = check;
        if (go_to(request, &state, ANSWERED)) {
            stk_sys_futex_wake_all(&request->state);
            return;
        }
    }
    go_to(request, &state, FREE); /* given up, or without an asker */
}
