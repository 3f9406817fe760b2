#include "cli/run/shared_helper_work.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/local.h"
#include "base/sys.h"
#include "cache/origin/entry_name.h"
#include "cache/run/shared_request.h"
#include "cache/tier/tier.h"
#include "cli/os/detached.h"
#include "cli/os/leases.h"
#include "cli/os/priority.h"
#include "cli/os/thread.h"
#include "cli/run/shared_sweep.h"
#include "cli/run/shared_tries.h"
#include "cli/run/transient_entries.h"

#define FETCHERS    128
#define PUBLISHERS  48
#define MOST_ERRORS 16 /* in a row */
#define FULL_NS     (60 * STK_NS_PER_S)
#define STEP_NS     (STK_NS_PER_S / 100)

static struct {
    struct stk_catalogue *catalogue;
    const struct stk_run *run;
    struct stk_shared_requests *requests;
    struct shared_tier shared;
    atomic_uint alive;       /* threads that may yet publish */
    atomic_uint errors[2];   /* in a row: of fetching, and of publishing */
    _Atomic int64_t full_ns; /* when there was no room; 0: there was */
} helper;

/* ---- what comes of a call ---- */

static void count(enum stk_shared_requests_count what, uint64_t amount)
{
    stk_shared_requests_count(helper.requests, what, amount);
}

static void note_success(bool publishes)
{
    atomic_store(&helper.errors[publishes], 0);
}

static void note_error(bool publishes, int error)
{
    count(STK_SHARED_REQUESTS_ERRORS, 1);
    atomic_store(&helper.requests->counts[STK_SHARED_REQUESTS_LAST_ERROR], (uint64_t)-error);
    if (atomic_fetch_add(&helper.errors[publishes], 1) + 1 >= MOST_ERRORS) {
        stk_shared_requests_pause(helper.requests, STK_SHARED_REQUESTS_FAILED);
    }
}

/* ---- files of this node ---- */

static bool is_sound(const struct stk_shared_request_spec *spec)
{
    return spec->path[0] != '/' && strstr(spec->path, "../") == NULL && spec->draft[0] != '.' &&
           strchr(spec->draft, '/') == NULL;
}

/* Opens a file of this node. Its name may mean another file to the requesting process, in a mount
 * namespace of its own, so the inode is compared. */
static int open_inode(const struct stk_shared_request_spec *spec, const char *folder,
                      const char *leaf, int flags, struct stat *stat_)
{
    char name[STK_HOME_BYTES + STK_SHARED_REQUEST_PATH_BYTES + 8];
    struct stk_tier tier;
    if (!stk_tier_by_index(helper.catalogue, spec->tier, &tier)) {
        return -ENOENT;
    }
    snprintf(name, sizeof name, "%s%s%s", tier.home, folder, leaf);
    int fd = stk_sys_open_nolinks(name, flags | O_CLOEXEC | O_NONBLOCK);
    bool same = fd >= 0 && stk_sys_fstat(fd, stat_) == 0 && S_ISREG(stat_->st_mode) &&
                stat_->st_ino == spec->ino;
    return stk_sys_opened(fd, same ? 0 : -ENOENT);
}

static int open_draft(const struct stk_shared_request_spec *spec)
{
    struct stat stat_ = {.st_dev = 0};
    int fd = open_inode(spec, "/fill/", spec->draft, O_WRONLY, &stat_);
    return stk_sys_opened(fd, fd < 0 || stat_.st_dev == spec->dev ? 0 : -ENOENT);
}

static int open_entry(const struct stk_shared_request_spec *spec)
{
    struct stat stat_ = {.st_size = 0};
    int fd = open_inode(spec, STK_ENTRY_TREE, spec->path, O_RDONLY, &stat_);
    return stk_sys_opened(fd, fd < 0 || (uint64_t)stat_.st_size == spec->bytes ? 0 : -ENOENT);
}

static struct shared_tier_entry entry_of(const struct stk_shared_request_spec *spec)
{
    return (struct shared_tier_entry){spec->path, spec->bytes, spec->rights};
}

/* ---- from there ---- */

static enum stk_shared_request_answer answer_of(int error)
{
    if (error == 0) {
        return STK_SHARED_REQUEST_YES;
    }
    if (error == -EBADMSG) {
        count(STK_SHARED_REQUESTS_DAMAGED, 1);
        return STK_SHARED_REQUEST_DAMAGED;
    }
    if (error != -ENOENT && !shared_tier_wants_room(error)) {
        note_error(false, error);
    }
    return STK_SHARED_REQUEST_NO;
}

/* Copies the entry into the draft. Its rights say whether the next file's origin is to be opened
 * first. A damaged entry counts after the open. */
static int copy_to(int draft, const struct stk_shared_request_spec *spec, uint64_t *check)
{
    struct shared_tier_entry entry = entry_of(spec);
    int error = shared_tier_fetch(&helper.shared, &entry, draft, check);
    bool equal = error == 0 && entry.rights == spec->rights && spec->rights != 0;
    atomic_store(&helper.requests->spares, equal);
    bool hidden = spec->unopened && (error == -EBADMSG || (error == 0 && !equal));
    return hidden ? -ENOENT : error;
}

static enum stk_shared_request_answer fetch(const struct stk_shared_request_spec *spec,
                                            uint64_t *check)
{
    int draft = open_draft(spec);
    if (draft < 0) {
        return STK_SHARED_REQUEST_NO;
    }
    int error = copy_to(draft, spec, check);
    stk_sys_close(draft);
    if (error == 0) {
        note_success(false);
        count(STK_SHARED_REQUESTS_FETCHED, 1);
        count(STK_SHARED_REQUESTS_FETCHED_BYTES, spec->bytes);
    }
    return answer_of(error);
}

static void fetch_all(void)
{
    struct stk_shared_request_taken taken;
    while (stk_shared_request_take(helper.requests, false, &taken)) {
        const struct stk_shared_request_spec *spec = &taken.spec;
        uint64_t check = 0;
        enum stk_shared_request_answer answer =
            !is_sound(spec) ? STK_SHARED_REQUEST_NO
            : spec->kind == STK_SHARED_REQUEST_LOOK
                ? answer_of(shared_tier_look(&helper.shared, spec->path, spec->bytes))
                : fetch(spec, &check);
        stk_shared_request_answer(&taken, answer, check);
    }
}

/* ---- to there ---- */

static bool is_full(void)
{
    int64_t full_ns = atomic_load(&helper.full_ns);
    return full_ns != 0 && stk_clock_boottime_ns() - full_ns < FULL_NS;
}

static int put_there(const struct stk_shared_request_spec *spec, int entry)
{
    /* The sweep has looked at this user's home alone. */
    bool may_be_there = !spec->repairs && (!spec->missing || helper.shared.gid != 0);
    if (may_be_there && shared_tier_look(&helper.shared, spec->path, spec->bytes) == 0) {
        return -EEXIST;
    }
    int error = is_full() ? -ENOSPC : shared_tier_take_room(&helper.shared, spec->bytes);
    if (error != 0) {
        return error;
    }
    const struct shared_tier_entry there = entry_of(spec);
    error = shared_tier_publish(&helper.shared, &there, entry, spec->repairs,
                                spec->for_members && helper.shared.gid != 0);
    if (error != 0) {
        shared_tier_give_room(&helper.shared, spec->bytes);
    }
    if (shared_tier_wants_room(error)) {
        atomic_store(&helper.full_ns, stk_clock_boottime_ns());
    }
    return error;
}

static void publish(const struct stk_shared_request_spec *spec)
{
    int entry = lease_is_held(spec->ino) ? -ENOENT : open_entry(spec);
    if (entry < 0) {
        return; /* its room was wanted for another entry */
    }
    int error = put_there(spec, entry);
    stk_sys_close(entry);
    if (error == 0) {
        note_success(true);
        count(STK_SHARED_REQUESTS_PUBLISHED, 1);
        count(STK_SHARED_REQUESTS_PUBLISHED_BYTES, spec->bytes);
    } else if (shared_tier_wants_room(error)) {
        count(STK_SHARED_REQUESTS_FULL, 1);
    } else if (error != -EEXIST) {
        note_error(true, error);
    }
}

/* Publishes until the run is over and all is done. No process waits for that, so there is no
 * deadline. */
static void publish_all(void)
{
    struct stk_shared_request_taken taken;
    while (stk_shared_request_take(helper.requests, true, &taken)) {
        if (is_sound(&taken.spec)) {
            publish(&taken.spec);
        }
        stk_shared_request_answer(&taken, STK_SHARED_REQUEST_NO, 0);
    }
    atomic_fetch_sub(&helper.alive, 1);
}

static void *publish_beside_job(void *context)
{
    priority_lower();
    publish_all();
    return context;
}

/* At the end the command waits for what is to be put there, at the job's own priority. */
static void *fetch_then_publish(void *context)
{
    fetch_all();
    publish_all();
    return context;
}

/* ---- the process ---- */

static void start_threads(void *(*work)(void *), int count)
{
    pthread_t thread;
    for (int i = 0; i < count; i++) {
        atomic_fetch_add(&helper.alive, 1);
        if (!thread_start(&thread, work, NULL)) {
            atomic_fetch_sub(&helper.alive, 1);
        }
    }
}

static void *make_room(void *context)
{
    transient_watch(helper.catalogue, helper.run);
    return context;
}

/* The roots and the catalogue are known from before the fork. */
static void view_cache(struct stk_cache *cache, const struct stk_roots *roots)
{
    stk_options_read(&cache->options);
    cache->roots = *roots;
    cache->catalogue = *helper.catalogue;
    cache->run = *helper.run;
    cache->run_start_ns = stk_run_start_ns(helper.run);
}

static void *sweep_beside_job(void *sweep)
{
    priority_lower();
    shared_sweep_run(sweep);
    return NULL;
}

/* Sweeps until the run is over, and then for what is left, at the job's own priority. */
static void sweep_all(const struct stk_roots *roots)
{
    static struct stk_cache cache;
    struct shared_sweep sweep = {.cache = &cache, .shared = &helper.shared};
    pthread_t thread;
    view_cache(&cache, roots);
    if (thread_start(&thread, sweep_beside_job, &sweep)) {
        pthread_join(thread, NULL);
    }
    shared_sweep_end(&sweep);
}

static void *sweep_drafts(void *context)
{
    priority_lower();
    shared_tier_sweep(&helper.shared);
    return context;
}

static void *try_again(void *context)
{
    shared_tries_run(helper.requests, &helper.shared, helper.errors);
    return context;
}

/* ---- setting up ---- */

bool shared_helper_tries_again(int error)
{
    return error != 0 && error != -ENOENT && error != -ENAMETOOLONG && error != -EPERM &&
           error != -ENOTUNIQ && error != -EACCES && error != -EROFS;
}

/* Opens the tier. If it is no group's, a disk of this node lies where its mount is missing. */
static int open_tier(void)
{
    struct statfs fs;
    bool missing = helper.shared.gid == 0 && stk_sys_statfs(helper.shared.directory, &fs) == 0 &&
                   stk_local_is(&fs);
    return missing ? -ENXIO : shared_tier_open(&helper.shared);
}

static void begin_serving(void)
{
    struct statfs fs;
    bool on_node = stk_sys_statfs(helper.shared.home, &fs) == 0 && stk_local_is(&fs);
    atomic_store(&helper.requests->on_node, on_node);
    atomic_store(&helper.requests->gid, helper.shared.gid);
    atomic_store(&helper.requests->sweeps, 1);
    stk_shared_requests_open(helper.requests);
    stk_shared_requests_resume(helper.requests); /* the command may have been left to wait */
}

/* Waits for a server that failed, or ends. */
static void open_later(int error, gid_t gid)
{
    for (struct shared_pause pause = {0}; error != 0; error = open_tier()) {
        if (!shared_helper_tries_again(error)) {
            _exit(1);
        }
        shared_pause_wait(helper.requests, &pause);
        helper.shared.gid = gid;
    }
}

/* Answers once. Where the command has gone on meanwhile, its end of the pipe is closed. */
static void set_up(int answer)
{
    gid_t gid = helper.shared.gid;
    struct shared_helper_setup setup = {.error = open_tier()};
    setup.gid = helper.shared.gid;
    memcpy(setup.home, helper.shared.home, sizeof setup.home);
    if (setup.error == 0) {
        begin_serving();
    }
    signal(SIGPIPE, SIG_IGN);
    bool told = write(answer, &setup, sizeof setup) == (ssize_t)sizeof setup;
    close(answer);
    if (setup.error != 0 || !told) {
        open_later(setup.error, gid);
        begin_serving();
    }
}

void shared_helper_work(struct stk_catalogue *catalogue, const struct stk_run *run,
                        const struct stk_roots *roots, const struct shared_tier *shared,
                        pid_t parent, int answer)
{
    static struct stk_roots own;
    pthread_t cleaner, watcher, trier;
    own = *roots;
    helper.catalogue = catalogue;
    helper.run = run;
    helper.requests = stk_run_shared_requests(run);
    helper.shared = *shared;
    detached_stand_alone(parent, answer);
    umask(0); /* the modes that are given are the ones that are meant */
    set_up(answer);
    start_threads(fetch_then_publish, FETCHERS);
    start_threads(publish_beside_job, PUBLISHERS);
    thread_start(&trier, try_again, NULL);
    thread_start(&watcher, make_room, NULL);
    thread_start(&cleaner, sweep_drafts, NULL);
    sweep_all(&own);
    while (atomic_load(&helper.alive) > 0) {
        nanosleep(&(struct timespec){0, STEP_NS}, NULL);
    }
    shared_tier_end_room(&helper.shared);
    _exit(0);
}
