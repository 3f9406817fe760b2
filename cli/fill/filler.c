#include "cli/fill/filler.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/sys.h"
#include "cache/version/freshness.h"
#include "cli/fill/big_files.h"
#include "cli/fill/fill_persistently.h"
#include "cli/fill/first_failure.h"
#include "cli/fill/open_origin.h"

/* After so many refusals in a row, without a fill between, the rest will not fit. */
#define IN_VAIN 256

#define PAUSE_NS (STK_NS_PER_S / 50) /* until a full queue of big files is looked at again */

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
    struct stk_run *job; /* NULL: there is none */
    atomic_bool full;
    atomic_uint in_vain;
    _Atomic uint64_t figures[FIGURES], refused[STK_BYPASS_KINDS];
    struct first_failure failed; /* of the files that could not be opened */
} filler;

void filler_begin(struct stk_cache *cache, const struct request *request)
{
    filler.cache = cache;
    filler.request = request;
}

void filler_count_in(struct stk_run *run)
{
    filler.job = run;
}

bool filler_is_full(void)
{
    return atomic_load(&filler.full);
}

/* ---- what is to be filled ---- */

static bool find_place(const struct scanned_file *file, char path[STK_PATH_BYTES],
                       struct stk_place *place)
{
    int length = snprintf(path, STK_PATH_BYTES, "%s/%s", file->directory, file->name);
    return length < STK_PATH_BYTES && stk_cache_place(filler.cache, path, AT_FDCWD, path, place);
}

/* Returns which of several nodes, from 1, fills this path ahead. Each node has a hash of the path
 * below the covered root, and the node with the highest hash takes the file. So the nodes need not
 * ask each other, and if a node comes or goes, only that node's files move. The answer is the same
 * in all versions of Stoker. */
static unsigned partition_of(const char *below, size_t length, unsigned nodes)
{
    uint64_t highest = 0;
    unsigned best = 1;
    for (unsigned node = 1; node <= nodes; node++) {
        uint64_t hash = stk_hash_64(below, length, node);
        if (hash > highest) {
            highest = hash;
            best = node;
        }
    }
    return best;
}

/* Returns true if this node fills the file. A file without a place is reported by every node. */
bool filler_wants(const struct scanned_file *file)
{
    char path[STK_PATH_BYTES];
    struct stk_place place;
    return filler.request->nodes <= 1 || !find_place(file, path, &place) ||
           partition_of(place.below, strlen(place.below), filler.request->nodes) ==
               filler.request->node;
}

/* ---- what became of it ---- */

static void add(enum figure figure, uint64_t number)
{
    atomic_fetch_add(&filler.figures[figure], number);
}

static void count_filled(uint64_t files, uint64_t bytes)
{
    add(FILLED, files);
    add(FILLED_BYTES, bytes);
    if (filler.job != NULL) {
        stk_run_count(filler.job, STK_RUN_COUNTER(ahead) + STK_AHEAD_FILES, files);
        stk_run_count(filler.job, STK_RUN_COUNTER(ahead) + STK_AHEAD_BYTES, bytes);
    }
}

static void count_present(uint64_t bytes)
{
    add(PRESENT, 1);
    add(PRESENT_BYTES, bytes);
}

static void count_refused(enum stk_bypass why)
{
    atomic_fetch_add(&filler.refused[why], 1);
    if (filler.request->warm_only && !filler.request->dry_run) {
        stk_run_count_bypass(&filler.cache->run, why, 0); /* for cli/run/superseded.h */
    }
    if (fill_is_want_of_room(why) && atomic_fetch_add(&filler.in_vain, 1) + 1 == IN_VAIN) {
        atomic_store(&filler.full, true);
    }
}

static void count(const struct stk_outcome *outcome)
{
    if (outcome->kind == STK_COUNT_FILLS) {
        atomic_store(&filler.in_vain, 0);
        count_filled(1, outcome->size);
    } else if (outcome->kind == STK_COUNT_HITS) {
        count_present(outcome->size);
    } else if (outcome->why != STK_BYPASS_NONE) {
        count_refused(outcome->why);
    } else {
        add(LINKS, 1);
    }
}

/* ---- big files ---- */

static void count_whole(const struct big_end *end)
{
    if (end->why != STK_BYPASS_NONE) {
        count_refused(end->why);
    } else if (end->filled > 0) {
        atomic_store(&filler.in_vain, 0);
        count_filled(1, 0);
    } else {
        count_present(end->bytes);
        add(BIG_BYTES, end->bytes);
    }
    add(BIGS, 1);
}

/* Counts the outcome of a queued big file. */
static void count_left(const struct big_end *end)
{
    count_whole(end);
    add(DONE, 1);
}

static void count_came(uint64_t bytes)
{
    count_filled(0, bytes);
    add(BIG_BYTES, bytes);
}

/* Returns true if the file was queued to be completed. If too many are queued, waits until some are
 * done. */
static bool make_whole(const struct stk_place *place, uint32_t record, int64_t opened_ns,
                       const struct read_cancel *cancel)
{
    static const struct big_file file = {
        .rank = BIG_AHEAD, .ended = count_left, .came = count_came};
    struct big_end end;
    enum big_taken taken = big_files_add(place, record, cancel->fd, opened_ns, &file, &end);
    while (taken == BIG_LATER && !cancel->cut) {
        nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
        taken = big_files_add(place, record, cancel->fd, opened_ns, &file, &end);
    }
    if (taken != BIG_QUEUED && !cancel->cut) {
        count_whole(&end);
    }
    return taken == BIG_QUEUED;
}

/* ---- one file ---- */

static void count_failed(const char *path, int error)
{
    add(error == ENOENT ? VANISHED : UNREADABLE, 1);
    if (error != ENOENT) {
        first_failure_note(&filler.failed, path, error);
    }
}

static bool is_large(const struct stk_outcome *outcome)
{
    return outcome->kind == STK_COUNT_OPENS && outcome->why == STK_BYPASS_LARGE;
}

/* Fills a file. Returns false if it is queued as a big file, and not done yet. */
static bool fill(const struct stk_place *place, struct stk_lookup *ask, struct read_cancel *cancel)
{
    struct stk_outcome outcome;
    if (stk_cache_fetch(filler.cache, place, ask->entry, &outcome)) {
        count(&outcome);
        return true;
    }
    int64_t opened_ns = stk_clock_boottime_ns();
    int fd = origin_open(place->path);
    if (fd < 0) {
        count_failed(place->path, -fd);
        return true;
    }
    origin_read_small_directly(place->root, fd);
    read_cancel_begin(cancel, fd);
    fill_persistently(filler.cache, place, fd, opened_ns, ask->entry, &outcome);
    bool large = is_large(&outcome);
    bool left = large && make_whole(place, outcome.record, opened_ns, cancel);
    if (read_cancel_end(cancel) && !large) {
        count(&outcome);
    }
    return !left;
}

/* Returns true if the link leads to a regular file. It must not be opened to find that out: opening
 * a device may have effects. */
static bool leads_to_file(const char *path)
{
    struct stat stat;
    int error = stk_sys_fstatat(AT_FDCWD, path, &stat, 0);
    if (error != 0) {
        count_failed(path, -error);
    } else if (!S_ISREG(stat.st_mode)) {
        add(LINKS, 1);
    }
    return error == 0 && S_ISREG(stat.st_mode);
}

/* Fills a file unless it is present. Returns what fill() returns. */
static bool look_at(const struct stk_place *place, bool link, struct read_cancel *cancel)
{
    struct stk_lookup ask;
    enum stk_answer answer = stk_cache_lookup(filler.cache, place, &ask);
    if (answer == STK_ANSWER_ORIGIN && ask.why == STK_BYPASS_LARGE) {
        answer = STK_ANSWER_FILL; /* the entry may have some of its blocks */
    }
    switch (answer) {
    case STK_ANSWER_HIT:
        if (stk_sys_faccessat(AT_FDCWD, ask.entry, F_OK) == 0) {
            count_present(ask.size);
            break;
        }
        stk_cache_lost(filler.cache, &ask);
        /* fall through */
    case STK_ANSWER_FILL:
        return (link && !leads_to_file(place->path)) || fill(place, &ask, cancel);
    case STK_ANSWER_ORIGIN:
        count_refused(ask.why);
        break;
    }
    return true;
}

/* ---- without filling ---- */

/* Returns the reason why a file would not be cached. Big files are cached by blocks. */
static enum stk_bypass reason_against(const struct stk_place *place,
                                      const struct stk_identity *identity)
{
    enum stk_bypass why = stk_cache_reason_against(filler.cache, place, identity);
    bool blocks =
        why == STK_BYPASS_LARGE && stk_big_may_be(filler.cache, stk_path_leaf(place->below));
    if (!blocks) {
        return why;
    }
    return stk_freshness_is_young(filler.cache, identity) ? STK_BYPASS_YOUNG : STK_BYPASS_NONE;
}

/* Counts what look_at() would do. */
static void foresee(const struct stk_place *place)
{
    struct statx answer;
    struct stk_identity identity;
    int error = stk_sys_statx(AT_FDCWD, place->path, 0, STATX_BASIC_STATS | STATX_BTIME, &answer);
    if (error != 0) {
        count_failed(place->path, -error);
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

void filler_take(const struct scanned_file *file, struct read_cancel *cancel)
{
    char path[STK_PATH_BYTES];
    struct stk_place place;
    bool done = true;
    if (!find_place(file, path, &place)) {
        count_refused(STK_BYPASS_NAME);
    } else if (filler.request->dry_run) {
        foresee(&place);
    } else {
        done = look_at(&place, file->link, cancel);
    }
    add(DONE, done);
}

/* ---- figures ---- */

void filler_read(struct fill_figures *out)
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

const char *filler_failure(void)
{
    return first_failure_text(&filler.failed);
}
