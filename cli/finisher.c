/* Big files that the job has begun. See cli/finisher.h. */
#include "cli/finisher.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/sys.h"
#include "cli/ahead.h"
#include "cli/joined.h"
#include "cli/origin.h"
#include "cli/say.h"
#include "cli/thread.h"
#include "cli/whole.h"
#include "cli/yield.h"

#define MOST_HANDS 16 /* blocks at a time, over a network */
#define LOOK_NS    STK_NS_PER_S
#define STEP_NS    (STK_NS_PER_S / 100)
#define PATIENCE   200 /* steps until the run ends without them */

/* What was last seen of a slot, so that a file is looked at when something is new of it. */
struct seen {
    uint64_t ticket;
    uint32_t marks;
};

static struct {
    struct stk_cache cache; /* as the job's, but what the run counts is what its job does */
    struct stk_begun *begun;
    struct seen seen[STK_BEGUN_SLOTS];
    struct hand hands[MOST_HANDS];
    unsigned wanted, started; /* threads that fill */
    atomic_uint alive;        /* threads that are to be waited for */
    atomic_bool over;
    _Atomic uint64_t files, bytes, left;
} finisher;

/* ---- filling ---- */

static bool goes_on(void)
{
    return !atomic_load(&finisher.over);
}

static void *fill(void *hand)
{
    yield_to_others();
    while (goes_on()) {
        whole_step(hand, goes_on);
    }
    hand_close(hand);
    atomic_fetch_sub(&finisher.alive, 1);
    return hand;
}

static bool start(void *(*work)(void *), void *context)
{
    pthread_t thread;
    return thread_start(&thread, work, context) && pthread_detach(thread) == 0;
}

/* Not before there is something to do. */
static void start_hands(void)
{
    while (finisher.started < finisher.wanted) {
        struct hand *hand = &finisher.hands[finisher.started];
        hand_set_up(hand);
        atomic_fetch_add(&finisher.alive, 1);
        if (!start(fill, hand)) {
            atomic_fetch_sub(&finisher.alive, 1);
            return;
        }
        finisher.started++;
    }
}

/* ---- what is to be filled ---- */

static void count_end(const struct whole_end *end)
{
    if (end->why != STK_BYPASS_NONE) {
        atomic_fetch_add(&finisher.left, 1);
    } else if (end->filled > 0) {
        atomic_fetch_add(&finisher.files, 1);
        atomic_fetch_add(&finisher.bytes, end->filled);
    }
}

static enum whole_rank rank_of(uint32_t marks)
{
    return (marks & STK_BEGUN_AWAITED) != 0  ? WHOLE_AWAITED
           : (marks & STK_BEGUN_MAPPED) != 0 ? WHOLE_MAPPED
                                             : WHOLE_READ;
}

static bool is_to_be_filled(uint32_t marks)
{
    return (marks & (STK_BEGUN_READ | STK_BEGUN_MAPPED | STK_BEGUN_AWAITED)) != 0 &&
           (marks & (STK_BEGUN_DONE | STK_BEGUN_LEFT)) == 0;
}

static const struct stk_root *root_of(const struct stk_cache *cache, uint64_t key)
{
    const struct stk_roots *roots = &cache->roots;
    for (unsigned i = 0; i < roots->count; i++) {
        if (roots->roots[i].usable && roots->roots[i].key == key) {
            return &roots->roots[i];
        }
    }
    return NULL;
}

static enum whole_taken leave(const struct stk_place *place, const struct stk_begun_file *begun,
                              int fd, int64_t opened_ns, struct stk_ask *ask)
{
    struct stk_outcome outcome;
    struct whole_end end = {.why = STK_BYPASS_CHANGED};
    const struct whole_file file = {
        .rank = rank_of(begun->marks), .yields = true, .ticket = begun->ticket, .told = count_end};
    if (stk_cache_fill(&finisher.cache, place, fd, opened_ns, ask->entry, &outcome)) {
        return WHOLE_THERE;
    }
    enum whole_taken taken = outcome.why == STK_BYPASS_LARGE
                                 ? whole_add(place, outcome.record, fd, opened_ns, &file, &end)
                                 : WHOLE_REFUSED;
    if (taken == WHOLE_REFUSED) {
        count_end(&end);
    }
    return taken;
}

/* As a program's open of it would, and no other. */
static enum whole_taken take(const struct stk_begun_file *begun)
{
    char path[STK_PATH_BYTES];
    struct stk_place place;
    struct stk_ask ask;
    const struct stk_root *root = root_of(&finisher.cache, begun->root);
    int length =
        root == NULL ? -1 : snprintf(path, sizeof path, "%s/%s", root->prefix, begun->below);
    if (length < 0 || (size_t)length >= sizeof path ||
        !stk_cache_place(&finisher.cache, path, AT_FDCWD, path, &place) ||
        place.root->key != begun->root) {
        return WHOLE_REFUSED;
    }
    enum stk_answer answer = stk_cache_ask(&finisher.cache, &place, &ask);
    if (answer == STK_ANSWER_HIT) {
        return WHOLE_THERE;
    }
    int64_t opened_ns = stk_clock_boottime_ns();
    int fd = answer == STK_ANSWER_FILL || ask.why == STK_BYPASS_LARGE ? origin_open(path) : -1;
    enum whole_taken taken = fd >= 0 ? leave(&place, begun, fd, opened_ns, &ask) : WHOLE_REFUSED;
    if (fd >= 0) {
        stk_sys_close(fd);
    }
    return taken;
}

static void mark(const struct stk_begun_file *begun, enum whole_taken taken)
{
    if (taken == WHOLE_THERE || taken == WHOLE_REFUSED) {
        stk_begun_mark(finisher.begun, begun->ticket,
                       taken == WHOLE_THERE ? STK_BEGUN_DONE : STK_BEGUN_LEFT);
        stk_begun_step(finisher.begun);
    }
}

static void look_at(unsigned slot)
{
    struct stk_begun_file begun;
    struct seen *seen = &finisher.seen[slot];
    if (!stk_begun_look(finisher.begun, slot, &begun) ||
        (seen->ticket == begun.ticket && seen->marks == begun.marks)) {
        return;
    }
    *seen = (struct seen){begun.ticket, begun.marks};
    if ((begun.marks & STK_BEGUN_DONE) != 0) {
        stk_begun_free(finisher.begun, begun.ticket);
    } else if (is_to_be_filled(begun.marks)) {
        enum whole_taken taken = take(&begun);
        mark(&begun, taken);
        seen->ticket = taken == WHOLE_LATER ? 0 : seen->ticket;
        start_hands();
    }
}

/* ---- the thread that looks ---- */

static void set_up(const struct request *request, const struct stk_cache *joined)
{
    unsigned suited = ahead_jobs(&joined->roots);
    finisher.cache = *joined;
    finisher.cache.run.file = NULL;
    finisher.wanted = request->jobs > 0 ? request->jobs : suited;
    finisher.wanted = finisher.wanted < MOST_HANDS ? finisher.wanted : MOST_HANDS;
    whole_begin(&finisher.cache, finisher.begun);
    yield_to_others();
}

static void look_at_all(void)
{
    while (goes_on()) {
        uint32_t count = atomic_load(&finisher.begun->count);
        for (unsigned i = 0; i < STK_BEGUN_SLOTS && goes_on(); i++) {
            look_at(i);
        }
        stk_sys_futex_wait(&finisher.begun->count, count, LOOK_NS);
    }
}

/* Finding out what the roots are asks the origin: nobody waits for that. */
static void *look(void *request)
{
    const struct stk_cache *joined = joined_cache();
    if (joined != NULL) {
        set_up(request, joined);
        atomic_fetch_add(&finisher.alive, 1);
        look_at_all();
        atomic_fetch_sub(&finisher.alive, 1);
    }
    return NULL;
}

static bool is_wanted(const struct request *request)
{
    struct stk_options options;
    stk_options_read(&options);
    return options.completes || request->warm_first;
}

void finisher_prepare(const struct request *request, const struct stk_run *run)
{
    finisher.begun = stk_run_begun(run);
    if (finisher.begun != NULL) {
        stk_begun_open(finisher.begun, is_wanted(request), request->warm_first);
    }
}

void finisher_begin(const struct request *request)
{
    static struct request own;
    own = *request;
    if (finisher.begun != NULL && is_wanted(request) && !start(look, &own)) {
        stk_begun_close(finisher.begun);
    }
}

void finisher_end(struct finisher_figures *out)
{
    atomic_store(&finisher.over, true);
    if (finisher.begun != NULL) {
        stk_begun_close(finisher.begun);
    }
    whole_wake();
    for (int i = 0; i < PATIENCE && atomic_load(&finisher.alive) > 0; i++) {
        for (unsigned hand = 0; hand < finisher.started; hand++) {
            desk_cut(&finisher.hands[hand].desk);
        }
        nanosleep(&(struct timespec){0, STEP_NS}, NULL);
    }
    *out = (struct finisher_figures){.files = atomic_load(&finisher.files),
                                     .bytes = atomic_load(&finisher.bytes),
                                     .left = atomic_load(&finisher.left)};
}

/* ---- names ---- */

static char *path_of(const struct stk_begun_file *file)
{
    const struct stk_cache *cache = joined_cache();
    const struct stk_root *root = cache != NULL ? root_of(cache, file->root) : NULL;
    return root != NULL ? must_format("%s/%s", root->prefix, file->below) : must_copy(file->below);
}

struct finisher_mapped *finisher_list_mapped(const struct stk_run *run, unsigned *count,
                                             uint64_t *more)
{
    struct stk_begun *begun = stk_run_begun(run);
    struct stk_begun_file file;
    struct finisher_mapped *mapped = must_allocate(STK_BEGUN_SLOTS * sizeof *mapped);
    *count = 0;
    *more = begun != NULL ? atomic_load(&begun->more) : 0;
    for (unsigned i = 0; begun != NULL && i < STK_BEGUN_SLOTS; i++) {
        if (stk_begun_look(begun, i, &file) && (file.marks & STK_BEGUN_MAPPED) != 0) {
            mapped[(*count)++] =
                (struct finisher_mapped){path_of(&file), (file.marks & STK_BEGUN_DONE) != 0};
        }
    }
    return mapped;
}

void finisher_free_mapped(struct finisher_mapped *mapped, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        free(mapped[i].path);
    }
    free(mapped);
}
