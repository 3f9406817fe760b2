/* One file of those that are filled ahead. See cli/filler.h. */
#include "cli/filler.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/path.h"
#include "base/sys.h"
#include "cache/trust.h"
#include "cli/origin.h"
#include "cli/share.h"
#include "cli/whole.h"

/* So many refusals one behind the other, and no fill between: whatever is left will not fit. */
#define IN_VAIN 256

#define ATTEMPTS 6 /* an eighth of a second in all */
#define PAUSE_NS (STK_NS_PER_S / 500)

enum figure {
    FILLED,
    FILLED_BYTES,
    WANTED_BLOCKS,
    PRESENT,
    PRESENT_BYTES,
    VANISHED,
    UNREADABLE,
    LINKS,
    BIGS,
    BIG_BYTES,
    DONE,
    FIGURES
};

static struct {
    struct stk_cache *cache;
    const struct request *request;
    atomic_bool full;
    atomic_uint in_vain;
    _Atomic uint64_t figures[FIGURES], refused[STK_BYPASS_KINDS];
} filler;

void filler_begin(struct stk_cache *cache, const struct request *request)
{
    filler.cache = cache;
    filler.request = request;
}

bool filler_is_full(void)
{
    return atomic_load(&filler.full);
}

/* ---- what is to be filled ---- */

static bool find_place(const struct listed *file, char path[STK_PATH_BYTES],
                       struct stk_place *place)
{
    int length = snprintf(path, STK_PATH_BYTES, "%s/%s", file->directory, file->name);
    return length < STK_PATH_BYTES && stk_cache_place(filler.cache, path, AT_FDCWD, path, place);
}

/* What has no place is everybody's to tell of. */
bool filler_wants(const struct listed *file)
{
    char path[STK_PATH_BYTES];
    struct stk_place place;
    return filler.request->nodes <= 1 || !find_place(file, path, &place) ||
           share_of(place.below, strlen(place.below), filler.request->nodes) ==
               filler.request->node;
}

/* ---- what became of it ---- */

static void add(enum figure figure, uint64_t number)
{
    atomic_fetch_add(&filler.figures[figure], number);
}

static void count_present(uint64_t bytes)
{
    add(PRESENT, 1);
    add(PRESENT_BYTES, bytes);
}

static bool is_want_of_room(enum stk_bypass why)
{
    return why == STK_BYPASS_BUDGET || why == STK_BYPASS_MEMORY || why == STK_BYPASS_TIER ||
           why == STK_BYPASS_CATALOGUE;
}

static void count_refused(enum stk_bypass why)
{
    atomic_fetch_add(&filler.refused[why], 1);
    if (filler.request->warm_only && !filler.request->dry_run) {
        stk_run_count_bypass(&filler.cache->run, why, 0); /* for cli/superseded.h */
    }
    if (is_want_of_room(why) && atomic_fetch_add(&filler.in_vain, 1) + 1 == IN_VAIN) {
        atomic_store(&filler.full, true);
    }
}

static void count(const struct stk_outcome *outcome)
{
    if (outcome->kind == STK_COUNT_FILLS) {
        atomic_store(&filler.in_vain, 0);
        add(FILLED, 1);
        add(FILLED_BYTES, outcome->size);
    } else if (outcome->kind == STK_COUNT_HITS) {
        count_present(outcome->size);
    } else if (outcome->why != STK_BYPASS_NONE) {
        count_refused(outcome->why);
    } else {
        add(LINKS, 1);
    }
}

/* ---- filling ---- */

static bool wants_room(const struct stk_outcome *outcome)
{
    return outcome->kind == STK_COUNT_OPENS && is_want_of_room(outcome->why) &&
           outcome->why != STK_BYPASS_MEMORY;
}

/* Whether what has no room might have it soon: others, such as the job, reserve for a moment, or
 * have the account in their hands (cache/account.h). */
static bool may_have_room(const struct stk_outcome *outcome)
{
    const struct stk_tier *tier = stk_cache_next_tier(filler.cache, NULL);
    while (tier != NULL && stk_budget_left(&tier->shared->budget) <
                               stk_budget_blocks_of(outcome->size, tier->shared->block_bytes)) {
        tier = stk_cache_next_tier(filler.cache, tier);
    }
    return wants_room(outcome) && (tier != NULL || outcome->why == STK_BYPASS_CATALOGUE);
}

/* With many at a time a budget may be all reserved, even for the catalogue alone, which all want
 * to grow at first. A program's open goes to the origin then, but this file would be left out: so
 * what has no room is tried again while no other thread of ours fills. */
static void try_to_fill(const struct stk_place *place, int fd, int64_t opened_ns,
                        struct stk_ask *ask, struct stk_outcome *outcome)
{
    static pthread_rwlock_t filling = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
    pthread_rwlock_rdlock(&filling);
    stk_cache_fill(filler.cache, place, fd, opened_ns, ask->entry, outcome);
    pthread_rwlock_unlock(&filling);
    if (!wants_room(outcome)) {
        return;
    }
    pthread_rwlock_wrlock(&filling);
    stk_cache_fill(filler.cache, place, fd, opened_ns, ask->entry, outcome);
    for (int i = 0; i < ATTEMPTS && may_have_room(outcome); i++) {
        nanosleep(&(struct timespec){0, PAUSE_NS << i}, NULL);
        stk_cache_fill(filler.cache, place, fd, opened_ns, ask->entry, outcome);
    }
    pthread_rwlock_unlock(&filling);
}

/* ---- big files ---- */

static void count_whole(const struct whole_end *end)
{
    if (end->why != STK_BYPASS_NONE) {
        count_refused(end->why);
    } else if (end->filled > 0) {
        atomic_store(&filler.in_vain, 0);
        add(FILLED, 1);
    } else {
        count_present(end->bytes);
        add(BIG_BYTES, end->bytes);
    }
    add(BIGS, 1);
}

/* One that was left to be made whole has come to its end. */
static void count_left(const struct whole_end *end)
{
    count_whole(end);
    add(DONE, 1);
}

static void count_came(uint64_t bytes)
{
    add(FILLED_BYTES, bytes);
    add(BIG_BYTES, bytes);
}

/* Whether it is left to be made whole. Where there are too many, some come to their end first. */
static bool make_whole(const struct stk_place *place, uint32_t record, int64_t opened_ns,
                       const struct desk *desk)
{
    static const struct whole_file file = {
        .rank = WHOLE_AHEAD, .told = count_left, .came = count_came};
    struct whole_end end;
    enum whole_taken taken = whole_add(place, record, desk->fd, opened_ns, &file, &end);
    while (taken == WHOLE_LATER && !desk->cut) {
        nanosleep(&(struct timespec){0, 10 * PAUSE_NS}, NULL);
        taken = whole_add(place, record, desk->fd, opened_ns, &file, &end);
    }
    if (taken != WHOLE_LEFT && !desk->cut) {
        count_whole(&end);
    }
    return taken == WHOLE_LEFT;
}

/* ---- one file ---- */

static bool is_large(const struct stk_outcome *outcome)
{
    return outcome->kind == STK_COUNT_OPENS && outcome->why == STK_BYPASS_LARGE;
}

/* Whether that is all; false: it is left to be made whole. */
static bool fill(const struct stk_place *place, struct stk_ask *ask, struct desk *desk)
{
    struct stk_outcome outcome;
    int64_t opened_ns = stk_clock_boottime_ns();
    int fd = origin_open(place->path);
    if (fd < 0) {
        add(fd == -ENOENT ? VANISHED : UNREADABLE, 1);
        return true;
    }
    desk_put(desk, fd);
    try_to_fill(place, fd, opened_ns, ask, &outcome);
    bool large = is_large(&outcome);
    bool left = large && make_whole(place, outcome.record, opened_ns, desk);
    if (desk_clear(desk) && !large) {
        count(&outcome);
    }
    return !left;
}

/* Devices do things when they are opened. */
static bool leads_to_file(const char *path)
{
    struct stat stat;
    int error = stk_sys_fstatat(AT_FDCWD, path, &stat, 0);
    if (error != 0) {
        add(error == -ENOENT ? VANISHED : UNREADABLE, 1);
    } else if (!S_ISREG(stat.st_mode)) {
        add(LINKS, 1);
    }
    return error == 0 && S_ISREG(stat.st_mode);
}

/* As fill. */
static bool look_at(const struct stk_place *place, bool link, struct desk *desk)
{
    struct stk_ask ask;
    enum stk_answer answer = stk_cache_ask(filler.cache, place, &ask);
    if (answer == STK_ANSWER_ORIGIN && ask.why == STK_BYPASS_LARGE) {
        answer = STK_ANSWER_FILL; /* that is known, and some of it may be there */
    }
    switch (answer) {
    case STK_ANSWER_HIT:
        if (stk_sys_faccessat(AT_FDCWD, ask.entry, F_OK) == 0) {
            count_present(ask.size);
            stk_cache_publish(filler.cache, place, &ask);
            break;
        }
        stk_cache_lost(filler.cache, &ask);
        /* fall through */
    case STK_ANSWER_FILL:
        return (link && !leads_to_file(place->path)) || fill(place, &ask, desk);
    case STK_ANSWER_ORIGIN:
        count_refused(ask.why);
        break;
    }
    return true;
}

/* ---- without filling ---- */

/* What is large comes block by block. */
static enum stk_bypass reason_against(const struct stk_place *place,
                                      const struct stk_identity *identity)
{
    enum stk_bypass why = stk_cache_reason_against(filler.cache, place, identity);
    bool blocks =
        why == STK_BYPASS_LARGE && stk_big_may_be(filler.cache, stk_path_leaf(place->below));
    if (!blocks) {
        return why;
    }
    return stk_trust_is_young(filler.cache, identity) ? STK_BYPASS_YOUNG : STK_BYPASS_NONE;
}

/* What look_at would come to. */
static void foresee(const struct stk_place *place)
{
    struct statx answer;
    struct stk_identity identity;
    int error = stk_sys_statx(AT_FDCWD, place->path, 0, STATX_BASIC_STATS | STATX_BTIME, &answer);
    if (error != 0) {
        add(error == -ENOENT ? VANISHED : UNREADABLE, 1);
        return;
    }
    if (!S_ISREG(answer.stx_mode) || !stk_identity_from_statx(&identity, &answer)) {
        add(LINKS, 1);
        return;
    }
    enum stk_bypass why = reason_against(place, &identity);
    if (why != STK_BYPASS_NONE) {
        count_refused(why);
    } else if (stk_cache_has_entry(filler.cache, place, &identity)) {
        count_present(identity.size);
    } else {
        uint32_t block_bytes = filler.cache->tier.shared->block_bytes;
        add(WANTED_BLOCKS, (uint64_t)stk_budget_blocks_of(identity.size, block_bytes));
        add(FILLED, 1);
        add(FILLED_BYTES, identity.size);
    }
}

void filler_take(const struct listed *file, struct desk *desk)
{
    char path[STK_PATH_BYTES];
    struct stk_place place;
    bool done = true;
    if (!find_place(file, path, &place)) {
        count_refused(STK_BYPASS_NAME);
    } else if (filler.request->dry_run) {
        foresee(&place);
    } else {
        done = look_at(&place, file->link, desk);
    }
    add(DONE, done);
}

/* ---- figures ---- */

void filler_read(struct ahead_figures *out)
{
    const _Atomic uint64_t *figures = filler.figures;
    out->done = atomic_load(&figures[DONE]);
    out->full = atomic_load(&filler.full);
    out->filled = atomic_load(&figures[FILLED]);
    out->filled_bytes = atomic_load(&figures[FILLED_BYTES]);
    out->wanted_blocks = (int64_t)atomic_load(&figures[WANTED_BLOCKS]);
    out->present = atomic_load(&figures[PRESENT]);
    out->present_bytes = atomic_load(&figures[PRESENT_BYTES]);
    out->bigs = atomic_load(&figures[BIGS]);
    out->big_bytes = atomic_load(&figures[BIG_BYTES]);
    out->vanished = atomic_load(&figures[VANISHED]);
    out->unreadable = atomic_load(&figures[UNREADABLE]);
    out->links = atomic_load(&figures[LINKS]);
    for (int why = 0; why < STK_BYPASS_KINDS; why++) {
        out->refused[why] = atomic_load(&filler.refused[why]);
    }
}
