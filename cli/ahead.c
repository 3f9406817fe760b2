/* Filling ahead. See cli/ahead.h. */
#include "cli/ahead.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "base/clock.h"
#include "base/local.h"
#include "base/sys.h"
#include "cli/desk.h"
#include "cli/extent.h"
#include "cli/filler.h"
#include "cli/joined.h"
#include "cli/listing.h"
#include "cli/thread.h"
#include "cli/whole.h"
#include "cli/yield.h"

#define FAR_JOBS  64 /* each waits for a server */
#define NEAR_JOBS 8
#define DISK_JOBS 2 /* that has to move its head */

#define GRACE_NS   STK_NS_PER_S
#define STEP_NS    (STK_NS_PER_S / 100)
#define PATIENCE_S 5 /* until the run ends without them */

static struct {
    struct listing listing;
    bool by_inode, by_place; /* the order in which a batch is filled */
    _Atomic size_t next;     /* file of the batch */
    atomic_bool stop, stopped, whole;
    _Atomic uint32_t woken;               /* 1: is to stop, or has ended */
    _Atomic int64_t began_ns, ended_ns;   /* of filling */
    struct desk desks[REQUEST_MOST_JOBS]; /* of small files */
    struct hand hands[REQUEST_MOST_JOBS]; /* of big ones */
    atomic_uint taking;                   /* threads that may find a big one */
    unsigned jobs;
} ahead;

/* ---- how many at a time ---- */

static bool is_rotating(uint64_t dev)
{
    static const char *const forms[] = {"/sys/dev/block/%u:%u/queue/rotational",
                                        "/sys/dev/block/%u:%u/../queue/rotational"};
    char path[80];
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        snprintf(path, sizeof path, forms[i], major(dev), minor(dev));
        FILE *file = fopen(path, "re");
        if (file != NULL) {
            bool rotating = fgetc(file) == '1';
            fclose(file);
            return rotating;
        }
    }
    return false;
}

static unsigned jobs_of(const struct stk_root *root)
{
    struct statfs fs;
    if (statfs(root->canonical, &fs) != 0 || !stk_local_is(&fs)) {
        return FAR_JOBS;
    }
    return is_rotating(root->dev) ? DISK_JOBS : NEAR_JOBS;
}

unsigned ahead_jobs(const struct stk_roots *roots)
{
    unsigned most = 1;
    for (unsigned i = 0; i < roots->count; i++) {
        unsigned jobs = roots->roots[i].usable ? jobs_of(&roots->roots[i]) : 0;
        most = jobs > most ? jobs : most;
    }
    return most;
}

/* ---- threads ---- */

static void *list_files(void *desk)
{
    yield_to_others();
    listing_work(&ahead.listing);
    return desk;
}

static bool is_over(void)
{
    return atomic_load(&ahead.stop) || filler_is_full();
}

/* A file that lies nowhere yet, or in its inode, keeps that's number. Links may lead to devices,
 * which do things when they are opened. */
static void find_place(struct listed *file)
{
    char path[STK_PATH_BYTES];
    int length = snprintf(path, sizeof path, "%s/%s", file->directory, file->name);
    if (!file->link && length > 0 && (size_t)length < sizeof path) {
        file->order = extent_of_file(path, file->order);
    }
}

/* By their inodes, which lie one behind the other as well. */
static void *place_files(void *desk)
{
    size_t next;
    yield_to_others();
    while (!atomic_load(&ahead.stop) &&
           (next = atomic_fetch_add(&ahead.next, 1)) < ahead.listing.count) {
        find_place(&ahead.listing.files[next]);
    }
    return desk;
}

static bool is_nothing_awaited(void)
{
    return false;
}

/* Whether there may be more to do for those who find no file any more. */
static bool may_more_come(void)
{
    return !is_over() && (atomic_load(&ahead.taking) > 0 || whole_is_any());
}

static bool take_next(struct desk *desk)
{
    atomic_fetch_add(&ahead.taking, 1);
    size_t next = atomic_fetch_add(&ahead.next, 1);
    bool any = next < ahead.listing.count;
    if (any) {
        filler_take(&ahead.listing.files[next], desk);
    }
    atomic_fetch_sub(&ahead.taking, 1);
    whole_wake();
    return any;
}

/* Big files that were found are filled by all threads together, before the next file is taken. */
static void *fill_files(void *desk)
{
    struct hand *hand = &ahead.hands[(struct desk *)desk - ahead.desks];
    yield_to_others();
    while (!is_over() && (whole_step(hand, is_nothing_awaited) || take_next(desk) ||
                          whole_step(hand, may_more_come))) {
    }
    hand_close(hand);
    return desk;
}

/* As many of them as can be had. */
static void on_threads(void *(*work)(void *))
{
    pthread_t threads[REQUEST_MOST_JOBS];
    unsigned started = 0;
    while (started < ahead.jobs && thread_start(&threads[started], work, &ahead.desks[started])) {
        started++;
    }
    if (started == 0) {
        work(&ahead.desks[0]);
    }
    for (unsigned i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
}

/* Small files are soon done when all is to stop; of large ones nobody waits for the rest. */
static void *cut_when_stopped(void *context)
{
    while (!atomic_load(&ahead.stop) && atomic_load(&ahead.woken) == 0) {
        stk_sys_futex_wait(&ahead.woken, 0, STK_NS_PER_S);
    }
    for (int64_t i = 0; i < GRACE_NS / STEP_NS && atomic_load(&ahead.ended_ns) == 0; i++) {
        nanosleep(&(struct timespec){0, STEP_NS}, NULL);
    }
    while (atomic_load(&ahead.ended_ns) == 0) {
        for (unsigned i = 0; i < ahead.jobs; i++) {
            desk_cut(&ahead.desks[i]);
            desk_cut(&ahead.hands[i].desk);
        }
        nanosleep(&(struct timespec){0, STEP_NS}, NULL);
    }
    return context;
}

/* ---- all of it ---- */

static void wake(void)
{
    atomic_store(&ahead.woken, 1);
    stk_sys_futex_wake_all(&ahead.woken);
}

/* Each file at work takes three. */
static void raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void fill_batch(void)
{
    int64_t none = 0;
    if (ahead.by_inode) {
        listing_sort(&ahead.listing);
    }
    if (ahead.by_place) {
        atomic_store(&ahead.next, 0);
        on_threads(place_files);
        listing_sort(&ahead.listing);
    }
    atomic_store(&ahead.next, 0);
    atomic_compare_exchange_strong(&ahead.began_ns, &none, stk_clock_boottime_ns());
    on_threads(fill_files);
    listing_drop(&ahead.listing);
}

static void begin(struct stk_cache *cache, const struct request *request)
{
    unsigned suited = ahead_jobs(&cache->roots);
    raise_descriptors();
    filler_begin(cache, request);
    whole_begin(cache, NULL);
    ahead.by_inode = suited != FAR_JOBS;
    ahead.by_place = suited == DISK_JOBS && !request->dry_run;
    ahead.jobs = request->jobs > 0 ? request->jobs : suited;
    for (unsigned i = 0; i < ahead.jobs; i++) {
        desk_set_up(&ahead.desks[i]);
        hand_set_up(&ahead.hands[i]);
    }
    listing_begin(&ahead.listing, request->nodes > 1 ? filler_wants : NULL, &ahead.stop);
    for (unsigned i = 0; i < request->part_count; i++) {
        listing_add(&ahead.listing, request->parts[i]);
    }
}

void ahead_run(struct stk_cache *cache, const struct request *request)
{
    pthread_t cutter;
    begin(cache, request);
    bool cutting = thread_start(&cutter, cut_when_stopped, NULL);
    do {
        on_threads(list_files);
        atomic_store(&ahead.whole, !listing_has_more(&ahead.listing));
        fill_batch();
    } while (listing_has_more(&ahead.listing) && !is_over());
    atomic_store(&ahead.stopped, atomic_load(&ahead.stop));
    atomic_store(&ahead.ended_ns, stk_clock_boottime_ns());
    if (cutting) {
        wake();
        pthread_join(cutter, NULL);
    }
}

void ahead_stop(void)
{
    atomic_store(&ahead.stop, true);
    wake();
}

/* ---- beside the command ---- */

static pthread_t beside;
static bool is_beside;

static void *run_beside(void *request)
{
    static struct stk_cache cache;
    if (joined_cache() != NULL) {
        cache = *joined_cache();
        cache.run.file = NULL; /* what the run counts is what its job does */
        ahead_run(&cache, request);
    }
    return NULL;
}

void ahead_begin(const struct request *request)
{
    static struct request own;
    own = *request;
    is_beside = thread_start(&beside, run_beside, &own);
}

void ahead_end(struct ahead_figures *out)
{
    struct timespec until;
    ahead_stop();
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    if (is_beside) {
        pthread_timedjoin_np(beside, NULL, &until);
    }
    ahead_read(out);
}

/* ---- figures ---- */

static int64_t filling_ns(void)
{
    int64_t began_ns = atomic_load(&ahead.began_ns), ended_ns = atomic_load(&ahead.ended_ns);
    if (began_ns == 0) {
        return 0;
    }
    return (ended_ns != 0 ? ended_ns : stk_clock_boottime_ns()) - began_ns;
}

void ahead_read(struct ahead_figures *out)
{
    *out = (struct ahead_figures){
        .found = atomic_load(&ahead.listing.found),
        .whole = atomic_load(&ahead.whole),
        .unreadable_directories = atomic_load(&ahead.listing.unreadable),
        .stopped = atomic_load(&ahead.stopped),
        .seconds_ns = filling_ns(),
    };
    filler_read(out);
    out->left_bytes = whole_left_bytes(&out->at_work);
}
