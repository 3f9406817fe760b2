#include "cli/fill/finisher.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/sys.h"
#include "cli/fill/big_files.h"
#include "cli/fill/big_team.h"
#include "cli/fill/fill_ahead.h"
#include "cli/fill/job_cache.h"
#include "cli/fill/open_origin.h"
#include "cli/os/priority.h"
#include "cli/os/thread.h"
#include "cli/out/say.h"

#define LOOK_NS     STK_NS_PER_S
#define PATIENCE_NS (2 * STK_NS_PER_S) /* until the run ends without the threads */

/* A slot as it was last seen, so that its file is looked at only if there is news. */
struct seen {
    uint64_t ticket;
    uint32_t marks;
};

static struct {
    struct stk_cache *cache;
    struct stk_big_queue *big_queue;
    struct seen seen[STK_BIG_QUEUE_SLOTS];
    unsigned wanted; /* threads that fill */
    atomic_bool looks;
    _Atomic uint64_t files, bytes, left[STK_BYPASS_KINDS];
} finisher;

/* ---- what is to be filled ---- */

static void count_end(const struct big_end *end)
{
    if (end->why != STK_BYPASS_NONE) {
        atomic_fetch_add(&finisher.left[end->why], 1);
    } else if (end->filled > 0) {
        atomic_fetch_add(&finisher.files, 1);
        atomic_fetch_add(&finisher.bytes, end->filled);
    }
}

static enum big_rank rank_of(uint32_t marks)
{
    return (marks & STK_BIG_QUEUE_AWAITED) != 0  ? BIG_AWAITED
           : (marks & STK_BIG_QUEUE_MAPPED) != 0 ? BIG_MAPPED
                                                 : BIG_READ;
}

static bool is_to_be_filled(uint32_t marks)
{
    return (marks & (STK_BIG_QUEUE_READ | STK_BIG_QUEUE_MAPPED | STK_BIG_QUEUE_AWAITED)) != 0 &&
           (marks & (STK_BIG_QUEUE_DONE | STK_BIG_QUEUE_LEFT)) == 0;
}

static struct big_file file_of(const struct stk_big_queue_file *begun)
{
    return (struct big_file){.rank = rank_of(begun->marks),
                             .yields = (begun->marks & STK_BIG_QUEUE_STREAMED) == 0,
                             .ticket = begun->ticket,
                             .ended = count_end};
}

static enum big_taken leave(const struct stk_place *place, const struct big_file *file, int fd,
                            int64_t opened_ns, struct stk_lookup *ask)
{
    struct stk_outcome outcome;
    struct big_end end = {0};
    if (stk_cache_fill(finisher.cache, place, fd, opened_ns, ask->entry, &outcome)) {
        return BIG_THERE;
    }
    end.why = outcome.why;
    enum big_taken taken = outcome.why == STK_BYPASS_LARGE
                               ? big_files_add(place, outcome.record, fd, opened_ns, file, &end)
                               : BIG_REFUSED;
    if (taken == BIG_REFUSED) {
        count_end(&end);
    }
    return taken;
}

/* Queues a file for filling, under the conditions of an open of the job. */
static enum big_taken take(const struct stk_big_queue_file *begun)
{
    char path[STK_PATH_BYTES];
    struct stk_place place;
    struct stk_lookup ask;
    const struct stk_root *root = stk_roots_by_key(&finisher.cache->roots, begun->root);
    int length =
        root == NULL ? -1 : snprintf(path, sizeof path, "%s/%s", root->prefix, begun->below);
    if (length < 0 || (size_t)length >= sizeof path ||
        !stk_cache_place(finisher.cache, path, AT_FDCWD, path, &place) ||
        place.root->key.low != begun->root) {
        return BIG_REFUSED;
    }
    enum stk_answer answer = stk_cache_lookup(finisher.cache, &place, &ask);
    const struct big_file file = file_of(begun);
    if (answer == STK_ANSWER_HIT) {
        return BIG_THERE;
    }
    if (big_files_join(ask.record, &file)) {
        return BIG_QUEUED;
    }
    int64_t opened_ns = stk_clock_boottime_ns();
    int fd = answer == STK_ANSWER_FILL || ask.why == STK_BYPASS_LARGE ? origin_open(path) : -1;
    enum big_taken taken = fd >= 0 ? leave(&place, &file, fd, opened_ns, &ask) : BIG_REFUSED;
    stk_sys_close_opened(fd);
    return taken;
}

static void mark(const struct stk_big_queue_file *begun, enum big_taken taken)
{
    if (taken == BIG_THERE || taken == BIG_REFUSED) {
        stk_big_queue_mark(finisher.big_queue, begun->ticket,
                           taken == BIG_THERE ? STK_BIG_QUEUE_DONE : STK_BIG_QUEUE_LEFT);
        stk_big_queue_step(finisher.big_queue);
    }
}

static void look_at(unsigned slot)
{
    struct stk_big_queue_file begun;
    struct seen *seen = &finisher.seen[slot];
    if (!stk_big_queue_look(finisher.big_queue, slot, &begun) ||
        (seen->ticket == begun.ticket && seen->marks == begun.marks)) {
        return;
    }
    *seen = (struct seen){begun.ticket, begun.marks};
    if ((begun.marks & STK_BIG_QUEUE_DONE) != 0) {
        stk_big_queue_free(finisher.big_queue, begun.ticket);
    } else if (is_to_be_filled(begun.marks)) {
        enum big_taken taken = take(&begun);
        mark(&begun, taken);
        seen->ticket = taken == BIG_LATER ? 0 : seen->ticket;
        big_team_start(finisher.wanted);
    }
}

/* ---- the thread that looks ---- */

static void set_up(const struct request *request)
{
    finisher.cache = job_cache_without_run();
    finisher.wanted = request->jobs > 0 ? request->jobs : fill_ahead_jobs(&finisher.cache->roots);
    big_files_begin(finisher.cache, finisher.big_queue);
    priority_lower();
}

/* Reads the count before the end of the team, so an end in between is not slept through. */
static void look_at_all(void)
{
    for (;;) {
        uint32_t count = atomic_load(&finisher.big_queue->count);
        if (!big_team_goes_on()) {
            return;
        }
        for (unsigned i = 0; i < STK_BIG_QUEUE_SLOTS && big_team_goes_on(); i++) {
            look_at(i);
        }
        stk_sys_futex_wait(&finisher.big_queue->count, count, LOOK_NS);
    }
}

/* Looks at the job's queue. To find out about the roots, it asks the origin, so no thread waits for
 * it. */
static void *look(void *request)
{
    if (job_cache() != NULL) {
        set_up(request);
        atomic_store(&finisher.looks, true);
        look_at_all();
        atomic_store(&finisher.looks, false);
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
    finisher.big_queue = stk_run_big_queue(run);
    if (finisher.big_queue != NULL) {
        stk_big_queue_open(finisher.big_queue, is_wanted(request), request->warm_first);
    }
}

void finisher_begin(const struct request *request)
{
    static struct request own;
    own = *request;
    if (finisher.big_queue != NULL && is_wanted(request) && !thread_start_detached(look, &own)) {
        finisher_close();
    }
}

void finisher_close(void)
{
    if (finisher.big_queue != NULL) {
        stk_big_queue_close(finisher.big_queue);
    }
}

void finisher_end(void)
{
    big_team_end(); /* before the queue wakes the thread that looks */
    finisher_close();
    int64_t began_ns = stk_clock_boottime_ns();
    while ((!big_team_end() || atomic_load(&finisher.looks)) &&
           stk_clock_boottime_ns() - began_ns < PATIENCE_NS) {
        thread_pause_since(began_ns);
    }
}

void finisher_read(struct finisher_figures *out)
{
    out->files = atomic_load(&finisher.files);
    out->bytes = atomic_load(&finisher.bytes);
    for (unsigned why = 0; why < STK_BYPASS_KINDS; why++) {
        out->left[why] = atomic_load(&finisher.left[why]);
    }
}

/* ---- names ---- */

static char *path_of(const struct stk_big_queue_file *file)
{
    const struct stk_cache *cache = job_cache();
    const struct stk_root *root =
        cache != NULL ? stk_roots_by_key(&cache->roots, file->root) : NULL;
    return root != NULL ? must_format("%s/%s", root->prefix, file->below) : must_copy(file->below);
}

struct finisher_mapped *finisher_list_mapped(const struct stk_run *run, unsigned *count,
                                             uint64_t *more)
{
    struct stk_big_queue *begun = stk_run_big_queue(run);
    struct stk_big_queue_file file;
    struct finisher_mapped *mapped = must_allocate(STK_BIG_QUEUE_SLOTS * sizeof *mapped);
    *count = 0;
    *more = begun != NULL ? atomic_load(&begun->more) : 0;
    for (unsigned i = 0; begun != NULL && i < STK_BIG_QUEUE_SLOTS; i++) {
        if (stk_big_queue_look(begun, i, &file) && (file.marks & STK_BIG_QUEUE_MAPPED) != 0) {
            mapped[(*count)++] =
                (struct finisher_mapped){path_of(&file), (file.marks & STK_BIG_QUEUE_DONE) != 0};
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
