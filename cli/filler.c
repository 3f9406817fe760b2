/* One file of those that are filled ahead. See cli/filler.h. */
#include "cli/filler.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/sys.h"
#include "cli/share.h"

/* So many refusals one behind the other, and no fill between: whatever is left will not fit. */
#define IN_VAIN 256

#define ATTEMPTS 5
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
        stk_run_count_bypass(&filler.cache->run, why); /* for cli/superseded.h */
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

/* For reading only, and without a trace in the file's times where that is allowed; never waiting
 * for somebody to write to a pipe that has come to lie there. */
static int open_origin(const char *path)
{
    int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    int fd = stk_sys_openat(AT_FDCWD, path, flags | O_NOATIME, 0);
    return fd == -EPERM ? stk_sys_openat(AT_FDCWD, path, flags, 0) : fd;
}

/* With many at a time a budget may be all reserved for a moment, or its account be in others' hands
 * (cache/account.h): a program's open goes to the origin then, but this file would be left out. */
static bool may_have_room(const struct stk_outcome *outcome)
{
    const struct stk_tier_shared *tier = filler.cache->tier.shared;
    bool refused = outcome->kind == STK_COUNT_OPENS && is_want_of_room(outcome->why) &&
                   outcome->why != STK_BYPASS_MEMORY;
    return refused &&
           stk_budget_left(&tier->budget) >= stk_budget_blocks_of(outcome->size, tier->block_bytes);
}

static void try_to_fill(const struct stk_place *place, int fd, int64_t opened_ns,
                        struct stk_ask *ask, struct stk_outcome *outcome)
{
    stk_cache_fill(filler.cache, place, fd, opened_ns, ask->entry, outcome);
    for (int i = 0; i < ATTEMPTS && may_have_room(outcome); i++) {
        nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
        stk_cache_fill(filler.cache, place, fd, opened_ns, ask->entry, outcome);
    }
}

static void fill(const struct stk_place *place, struct stk_ask *ask, struct desk *desk)
{
    struct stk_outcome outcome;
    int64_t opened_ns = stk_clock_boottime_ns();
    int fd = open_origin(place->path);
    if (fd < 0) {
        add(fd == -ENOENT ? VANISHED : UNREADABLE, 1);
        return;
    }
    desk_put(desk, fd);
    try_to_fill(place, fd, opened_ns, ask, &outcome);
    if (desk_clear(desk)) {
        count(&outcome);
    }
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

static void look_at(const struct stk_place *place, bool link, struct desk *desk)
{
    struct stk_ask ask;
    switch (stk_cache_ask(filler.cache, place, &ask)) {
    case STK_ANSWER_HIT:
        if (stk_sys_faccessat(AT_FDCWD, ask.entry, F_OK) == 0) {
            count_present(ask.size);
            break;
        }
        stk_cache_lost(filler.cache, &ask);
        /* fall through */
    case STK_ANSWER_FILL:
        if (!link || leads_to_file(place->path)) {
            fill(place, &ask, desk);
        }
        break;
    case STK_ANSWER_ORIGIN:
        count_refused(ask.why);
        break;
    }
}

/* ---- without filling ---- */

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
    enum stk_bypass why = stk_cache_reason_against(filler.cache, place, &identity);
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
    if (!find_place(file, path, &place)) {
        count_refused(STK_BYPASS_NAME);
    } else if (filler.request->dry_run) {
        foresee(&place);
    } else {
        look_at(&place, file->link, desk);
    }
    add(DONE, 1);
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
    out->vanished = atomic_load(&figures[VANISHED]);
    out->unreadable = atomic_load(&figures[UNREADABLE]);
    out->links = atomic_load(&figures[LINKS]);
    for (int why = 0; why < STK_BYPASS_KINDS; why++) {
        out->refused[why] = atomic_load(&filler.refused[why]);
    }
}
