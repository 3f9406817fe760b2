#include "cli/fill/fill_ahead.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/local.h"
#include "base/sys.h"
#include "cli/fill/big_files.h"
#include "cli/fill/open_origin.h"
#include "cli/fill/filler.h"
#include "cli/fill/read_cancel.h"
#include "cli/fill/tree_scan.h"
#include "cli/os/descriptors.h"
#include "cli/os/priority.h"
#include "cli/os/thread.h"

#define FAR_JOBS  64 /* each waits for a server */
#define NEAR_JOBS 8
#define DISK_JOBS 2 /* a disk with a head to move */

#define GRACE_NS STK_NS_PER_S
#define STEP_NS  (STK_NS_PER_S / 100)

static struct {
    struct tree_scan scan;
    bool by_inode, by_place; /* the order in which a batch is filled */
    _Atomic size_t next;     /* index of the next file of the batch */
    atomic_bool stop, stopped, whole;
    _Atomic uint32_t woken;             /* 1: the cutter is to stop, or filling has ended */
    _Atomic int64_t began_ns, ended_ns; /* of filling */
    struct read_cancel cancels[REQUEST_MOST_JOBS]; /* of reads of small files */
    struct big_worker *workers;                    /* for big files, as many as `jobs` */
    atomic_uint taking;                            /* threads that may still find a big file */
    unsigned jobs;
    bool (*gives_way)(void); /* NULL: never */
} ahead;

/* ---- how many at a time ---- */

static unsigned jobs_of(const struct stk_root *root)
{
    struct statfs fs;
    if (statfs(root->canonical, &fs) != 0 || !stk_local_is(&fs)) {
        return FAR_JOBS;
    }
    return stk_local_rotates(root->dev) == 1 ? DISK_JOBS : NEAR_JOBS;
}

unsigned fill_ahead_jobs(const struct stk_roots *roots)
{
    unsigned most = 1;
    for (unsigned i = 0; i < roots->count; i++) {
        unsigned jobs = roots->roots[i].usable ? jobs_of(&roots->roots[i]) : 0;
        most = jobs > most ? jobs : most;
    }
    return most;
}

/* ---- threads ---- */

static void *list_files(void *cancel)
{
    priority_lower();
    tree_scan_work(&ahead.scan);
    return cancel;
}

static bool is_over(void)
{
    return atomic_load(&ahead.stop) || filler_is_full();
}

/* Sets the file's place on the disk. A file without a place (yet), or inside its inode, keeps the
 * inode's number. Links are not opened: they may lead to devices, and opening a device may have
 * effects. */
static void find_place(struct scanned_file *file)
{
    char path[STK_PATH_BYTES];
    int length = snprintf(path, sizeof path, "%s/%s", file->directory, file->name);
    if (!file->link && length > 0 && (size_t)length < sizeof path) {
        file->position = origin_extent(path, file->position);
    }
}

/* Finds the places of all files, in the order of their inodes, which are adjacent as well. */
static void *place_files(void *cancel)
{
    size_t next;
    priority_lower();
    while (!atomic_load(&ahead.stop) &&
           (next = atomic_fetch_add(&ahead.next, 1)) < ahead.scan.count) {
        find_place(&ahead.scan.files[next]);
    }
    return cancel;
}

static bool is_nothing_awaited(void)
{
    return false;
}

/* Returns true if a thread that finds no more files may still get work. */
static bool may_more_come(void)
{
    return !is_over() && (atomic_load(&ahead.taking) > 0 || big_files_is_any());
}

static bool take_next(struct read_cancel *cancel)
{
    atomic_fetch_add(&ahead.taking, 1);
    size_t next = atomic_fetch_add(&ahead.next, 1);
    bool any = next < ahead.scan.count;
    if (any) {
        filler_take(&ahead.scan.files[next], cancel);
    }
    atomic_fetch_sub(&ahead.taking, 1);
    big_files_wake();
    return any;
}

/* Waits while other files are wanted before. One thread looks, and the others wait for it. */
static void give_way(void)
{
    static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&looking);
    while (ahead.gives_way() && !is_over()) {
        nanosleep(&(struct timespec){0, STEP_NS}, NULL);
    }
    pthread_mutex_unlock(&looking);
}

static bool goes_on(void)
{
    if (ahead.gives_way != NULL) {
        give_way();
    }
    return !is_over();
}

/* Fills files. Big files that were found are filled by all threads together, before the next file
 * is taken. */
static void *fill_files(void *cancel)
{
    struct big_worker *worker = &ahead.workers[(struct read_cancel *)cancel - ahead.cancels];
    priority_lower();
    while (goes_on() && (big_files_step(worker, is_nothing_awaited) || take_next(cancel) ||
                         big_files_step(worker, may_more_come))) {
    }
    big_worker_close(worker);
    return cancel;
}

/* Runs `work` on as many of the wanted threads as can be started. */
static void on_threads(void *(*work)(void *))
{
    pthread_t threads[REQUEST_MOST_JOBS];
    unsigned started = 0;
    while (started < ahead.jobs && thread_start(&threads[started], work, &ahead.cancels[started])) {
        started++;
    }
    if (started == 0) {
        work(&ahead.cancels[0]);
    }
    for (unsigned i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
}

/* Cuts reads when all is to stop. Small files end soon by themselves; the rest of a large file is
 * not awaited. */
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
            read_cancel_cut(&ahead.cancels[i]);
            read_cancel_cut(&ahead.workers[i].cancel);
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

static void fill_batch(void)
{
    int64_t none = 0;
    if (ahead.by_inode) {
        tree_scan_sort(&ahead.scan);
    }
    if (ahead.by_place) {
        atomic_store(&ahead.next, 0);
        on_threads(place_files);
        tree_scan_sort(&ahead.scan);
    }
    atomic_store(&ahead.next, 0);
    atomic_compare_exchange_strong(&ahead.began_ns, &none, stk_clock_boottime_ns());
    on_threads(fill_files);
    tree_scan_drop(&ahead.scan);
}

/* Makes the workers of so many jobs: of one job if there is no room for all of them. */
static void make_workers(unsigned jobs)
{
    static struct big_worker one;
    ahead.workers = calloc(jobs, sizeof *ahead.workers);
    ahead.jobs = ahead.workers != NULL ? jobs : 1;
    ahead.workers = ahead.workers != NULL ? ahead.workers : &one;
    for (unsigned i = 0; i < ahead.jobs; i++) {
        read_cancel_set_up(&ahead.cancels[i]);
        big_worker_set_up(&ahead.workers[i]);
    }
}

static void begin(struct stk_cache *cache, const struct request *request)
{
    unsigned suited = fill_ahead_jobs(&cache->roots);
    descriptors_raise_limit();
    filler_begin(cache, request);
    big_files_begin(cache, NULL);
    ahead.by_inode = suited != FAR_JOBS;
    ahead.by_place = suited == DISK_JOBS && !request->dry_run;
    make_workers(request->jobs > 0 ? request->jobs : suited);
    tree_scan_begin(&ahead.scan, request->nodes > 1 ? filler_wants : NULL, &ahead.stop);
    for (unsigned i = 0; i < request->part_count; i++) {
        tree_scan_add(&ahead.scan, request->parts[i]);
    }
}

void fill_ahead_run(struct stk_cache *cache, const struct request *request)
{
    pthread_t cutter;
    begin(cache, request);
    bool cutting = thread_start(&cutter, cut_when_stopped, NULL);
    do {
        on_threads(list_files);
        atomic_store(&ahead.whole, !tree_scan_has_more(&ahead.scan));
        fill_batch();
    } while (tree_scan_has_more(&ahead.scan) && !is_over());
    atomic_store(&ahead.stopped, atomic_load(&ahead.stop));
    atomic_store(&ahead.ended_ns, stk_clock_boottime_ns());
    if (cutting) {
        wake();
        pthread_join(cutter, NULL);
    }
}

void fill_ahead_stop(void)
{
    atomic_store(&ahead.stop, true);
    wake();
}

/* ---- beside a job ---- */

void fill_ahead_beside(struct stk_cache *cache, const struct request *request,
                       bool (*gives_way)(void))
{
    static struct stk_cache own;
    own = *cache;
    own.run.file = NULL; /* the run counts the opens and looks of its job */
    ahead.gives_way = gives_way;
    filler_count_in(&cache->run);
    fill_ahead_run(&own, request);
}

void fill_ahead_end(void)
{
    fill_ahead_stop();
    int64_t began_ns = stk_clock_boottime_ns();
    while (atomic_load(&ahead.began_ns) != 0 && atomic_load(&ahead.ended_ns) == 0) {
        thread_pause_since(began_ns);
    }
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

void fill_ahead_read(struct fill_figures *out)
{
    *out = (struct fill_figures){
        .found = atomic_load(&ahead.scan.found),
        .whole = atomic_load(&ahead.whole),
        .unreadable_directories = atomic_load(&ahead.scan.unreadable),
        .stopped = atomic_load(&ahead.stopped),
        .seconds_ns = filling_ns(),
    };
    filler_read(out);
    out->left_bytes = big_files_left_bytes(&out->at_work);
}

const char *fill_ahead_failed_directory(void)
{
    return first_failure_text(&ahead.scan.failed);
}
