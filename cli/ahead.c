/* Filling ahead. See cli/ahead.h. */
#include "cli/ahead.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/local.h"
#include "base/sys.h"
#include "cli/listing.h"
#include "cli/share.h"

#define FAR_JOBS  64 /* each waits for a server */
#define NEAR_JOBS 8
#define DISK_JOBS 2 /* that has to move its head */

/* So many refusals one behind the other, and no fill between: whatever is left will not fit. */
#define IN_VAIN 256

/* A fill takes up to 24 KB; names, and what the sanitizers want. */
#define STACK_BYTES (1u << 20)

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
    struct listing listing;
    bool by_inode;
    _Atomic size_t next; /* file of the batch */
    atomic_bool stop, stopped, full, whole;
    atomic_uint in_vain;
    _Atomic int64_t began_ns, ended_ns; /* of filling */
    _Atomic uint64_t figures[FIGURES], refused[STK_BYPASS_KINDS];
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

/* ---- one file ---- */

static bool find_place(const struct listed *file, char path[STK_PATH_BYTES],
                       struct stk_place *place)
{
    int length = snprintf(path, STK_PATH_BYTES, "%s/%s", file->directory, file->name);
    return length < STK_PATH_BYTES && stk_cache_place(ahead.cache, path, AT_FDCWD, path, place);
}

/* What has no place is everybody's to complain of. */
static bool is_ours(const struct listed *file)
{
    char path[STK_PATH_BYTES];
    struct stk_place place;
    return !find_place(file, path, &place) ||
           share_of(place.below, strlen(place.below), ahead.request->nodes) == ahead.request->node;
}

static void add(enum figure figure, uint64_t number)
{
    atomic_fetch_add(&ahead.figures[figure], number);
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
    atomic_fetch_add(&ahead.refused[why], 1);
    if (ahead.request->warm_only && !ahead.request->dry_run) {
        stk_run_count_bypass(&ahead.cache->run, why); /* for cli/superseded.h */
    }
    if (is_want_of_room(why) && atomic_fetch_add(&ahead.in_vain, 1) + 1 == IN_VAIN) {
        atomic_store(&ahead.full, true);
    }
}

static void count(const struct stk_outcome *outcome)
{
    if (outcome->kind == STK_COUNT_FILLS) {
        atomic_store(&ahead.in_vain, 0);
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

/* For reading only, and without a trace in the file's times where that is allowed; never waiting
 * for somebody to write to a pipe that has come to lie there. */
static int open_origin(const char *path)
{
    int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    int fd = stk_sys_openat(AT_FDCWD, path, flags | O_NOATIME, 0);
    return fd == -EPERM ? stk_sys_openat(AT_FDCWD, path, flags, 0) : fd;
}

static void fill(const struct stk_place *place, struct stk_ask *ask)
{
    struct stk_outcome outcome;
    int64_t opened_ns = stk_clock_boottime_ns();
    int fd = open_origin(place->path);
    if (fd < 0) {
        add(fd == -ENOENT ? VANISHED : UNREADABLE, 1);
        return;
    }
    stk_cache_fill(ahead.cache, place, fd, opened_ns, ask->entry, &outcome);
    stk_sys_close(fd);
    count(&outcome);
}

static void look_at(const struct stk_place *place)
{
    struct stk_ask ask;
    switch (stk_cache_ask(ahead.cache, place, &ask)) {
    case STK_ANSWER_HIT:
        if (stk_sys_faccessat(AT_FDCWD, ask.entry, F_OK) == 0) {
            count_present(ask.size);
            break;
        }
        stk_cache_lost(ahead.cache, &ask);
        /* fall through */
    case STK_ANSWER_FILL:
        fill(place, &ask);
        break;
    case STK_ANSWER_ORIGIN:
        count_refused(ask.why);
        break;
    }
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
    enum stk_bypass why = stk_cache_reason_against(ahead.cache, place, &identity);
    if (why != STK_BYPASS_NONE) {
        count_refused(why);
    } else if (stk_cache_has_entry(ahead.cache, place, &identity)) {
        count_present(identity.size);
    } else {
        uint32_t block_bytes = ahead.cache->tier.shared->block_bytes;
        add(WANTED_BLOCKS, (uint64_t)stk_budget_blocks_of(identity.size, block_bytes));
        add(FILLED, 1);
        add(FILLED_BYTES, identity.size);
    }
}

static void look_at_file(const struct listed *file)
{
    char path[STK_PATH_BYTES];
    struct stk_place place;
    if (find_place(file, path, &place)) {
        (ahead.request->dry_run ? foresee : look_at)(&place);
    } else {
        count_refused(STK_BYPASS_NAME);
    }
    add(DONE, 1);
}

/* ---- threads ---- */

/* To a job beside us, but not for ever: it may be waiting for the file that is being filled. */
static void yield_to_others(void)
{
    const int lowest = 2 << 13 | 7; /* IOPRIO_CLASS_BE */
    pid_t self = (pid_t)syscall(SYS_gettid);
    setpriority(PRIO_PROCESS, (id_t)self, 19);
    syscall(SYS_ioprio_set, 1, 0, lowest);
}

static void *list_files(void *context)
{
    yield_to_others();
    listing_work(&ahead.listing);
    return context;
}

static bool is_over(void)
{
    return atomic_load(&ahead.stop) || atomic_load(&ahead.full);
}

static void *fill_files(void *context)
{
    yield_to_others();
    while (!is_over()) {
        size_t next = atomic_fetch_add(&ahead.next, 1);
        if (next >= ahead.listing.count) {
            break;
        }
        look_at_file(&ahead.listing.files[next]);
    }
    return context;
}

/* As many of them as can be had; signals are the main thread's. */
static void on_threads(void *(*work)(void *), unsigned jobs)
{
    pthread_t threads[REQUEST_MOST_JOBS];
    pthread_attr_t small;
    sigset_t all, before;
    unsigned started = 0;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < jobs && pthread_create(&threads[started], &small, work, NULL) == 0) {
        started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&small);
    if (started == 0) {
        work(NULL);
    }
    for (unsigned i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
}

/* ---- all of it ---- */

static void fill_batch(unsigned jobs)
{
    int64_t none = 0;
    if (ahead.by_inode) {
        listing_sort(&ahead.listing);
    }
    atomic_store(&ahead.next, 0);
    atomic_compare_exchange_strong(&ahead.began_ns, &none, stk_clock_boottime_ns());
    on_threads(fill_files, jobs);
    listing_drop(&ahead.listing);
}

void ahead_run(struct stk_cache *cache, const struct request *request)
{
    unsigned suited = ahead_jobs(&cache->roots), jobs = request->jobs > 0 ? request->jobs : suited;
    ahead.cache = cache;
    ahead.request = request;
    ahead.by_inode = suited != FAR_JOBS;
    listing_begin(&ahead.listing, request->nodes > 1 ? is_ours : NULL, &ahead.stop);
    for (unsigned i = 0; i < request->part_count; i++) {
        listing_add(&ahead.listing, request->parts[i]);
    }
    do {
        on_threads(list_files, jobs);
        atomic_store(&ahead.whole, !listing_has_more(&ahead.listing));
        fill_batch(jobs);
    } while (listing_has_more(&ahead.listing) && !is_over());
    atomic_store(&ahead.stopped, atomic_load(&ahead.stop));
    atomic_store(&ahead.ended_ns, stk_clock_boottime_ns());
}

void ahead_stop(void)
{
    atomic_store(&ahead.stop, true);
}

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
        .done = atomic_load(&ahead.figures[DONE]),
        .whole = atomic_load(&ahead.whole),
        .filled = atomic_load(&ahead.figures[FILLED]),
        .filled_bytes = atomic_load(&ahead.figures[FILLED_BYTES]),
        .wanted_blocks = (int64_t)atomic_load(&ahead.figures[WANTED_BLOCKS]),
        .present = atomic_load(&ahead.figures[PRESENT]),
        .present_bytes = atomic_load(&ahead.figures[PRESENT_BYTES]),
        .vanished = atomic_load(&ahead.figures[VANISHED]),
        .unreadable = atomic_load(&ahead.figures[UNREADABLE]),
        .unreadable_directories = atomic_load(&ahead.listing.unreadable),
        .links = atomic_load(&ahead.figures[LINKS]),
        .stopped = atomic_load(&ahead.stopped),
        .full = atomic_load(&ahead.full),
        .seconds_ns = filling_ns(),
    };
    for (int why = 0; why < STK_BYPASS_KINDS; why++) {
        out->refused[why] = atomic_load(&ahead.refused[why]);
    }
}
