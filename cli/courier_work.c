/* What the courier does. See cli/courier_work.h. */
#include "cli/courier_work.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sys.h"
#include "cache/entry.h"
#include "cache/errand.h"
#include "cli/apart.h"
#include "cli/leases.h"
#include "cli/passing.h"
#include "cli/thread.h"
#include "cli/yield.h"

#define FETCHERS       16
#define PUBLISHERS     8
#define FULL_NS        (60 * STK_NS_PER_S)
#define STEP_NS        (STK_NS_PER_S / 100)
#define STOPPED_NS     STK_NS_PER_S        /* so much longer no step takes by itself */
#define PUBLISH_NS     (20 * STK_NS_PER_S) /* for one that is not large */
#define PUBLISH_RATE_S (1 << 20)           /* bytes in a second of one that is */

static struct {
    struct stk_catalogue *catalogue;
    struct stk_errands *errands;
    struct shared shared;
    atomic_uint alive;                   /* publishers */
    atomic_uint errors[2];               /* one after the other, of either kind */
    _Atomic int64_t full_ns;             /* when there was no room; 0: there was */
    _Atomic int64_t late_ns[PUBLISHERS]; /* when each will be too late; 0: it is at nothing */
} courier;

/* ---- what comes of a call ---- */

static void count(enum stk_errands_count what, uint64_t amount)
{
    stk_errands_count(courier.errands, what, amount);
}

static void note_success(bool publishes)
{
    atomic_store(&courier.errors[publishes], 0);
}

static void note_error(bool publishes, int error)
{
    count(STK_ERRANDS_ERRORS, 1);
    atomic_store(&courier.errands->counts[STK_ERRANDS_LAST_ERROR], (uint64_t)-error);
    if (atomic_fetch_add(&courier.errors[publishes], 1) + 1 >= COURIER_MOST_ERRORS) {
        stk_errands_close(courier.errands, STK_ERRANDS_FAILED);
    }
}

/* ---- files of this node ---- */

static bool is_sound(const struct stk_errand_wish *wish)
{
    return wish->path[0] != '/' && strstr(wish->path, "../") == NULL && wish->draft[0] != '.' &&
           strchr(wish->draft, '/') == NULL;
}

/* Whoever asks may see other files by these names, in a mount namespace of its own. */
static int open_draft(const struct stk_errand_wish *wish)
{
    char name[STK_HOME_BYTES + STK_ERRAND_DRAFT_BYTES + 8];
    struct stk_tier tier;
    struct stat stat_;
    if (!stk_tier_by_index(courier.catalogue, wish->tier, &tier)) {
        return -ENOENT;
    }
    snprintf(name, sizeof name, "%s/fill/%s", tier.home, wish->draft);
    int fd = stk_sys_open_nolinks(name, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && (stk_sys_fstat(fd, &stat_) != 0 || !S_ISREG(stat_.st_mode) ||
                    stat_.st_dev != wish->dev || stat_.st_ino != wish->ino)) {
        stk_sys_close(fd);
        return -ENOENT;
    }
    return fd;
}

static int open_entry(const struct stk_errand_wish *wish)
{
    char name[STK_HOME_BYTES + STK_ERRAND_PATH_BYTES + 8];
    struct stk_tier tier;
    struct stat stat_;
    if (!stk_tier_by_index(courier.catalogue, wish->tier, &tier) || lease_is_held(wish->ino)) {
        return -ENOENT;
    }
    snprintf(name, sizeof name, "%s" STK_ENTRY_TREE "%s", tier.home, wish->path);
    int fd = stk_sys_open_nolinks(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && (stk_sys_fstat(fd, &stat_) != 0 || !S_ISREG(stat_.st_mode) ||
                    stat_.st_ino != wish->ino || (uint64_t)stat_.st_size != wish->bytes)) {
        stk_sys_close(fd);
        return -ENOENT;
    }
    return fd;
}

/* ---- from there ---- */

static bool is_want_of_room(int error)
{
    return error == -ENOSPC || error == -EDQUOT;
}

static enum stk_errand_answer answer_of(int error)
{
    if (error == 0) {
        return STK_ERRAND_YES;
    }
    if (error == -EBADMSG) {
        count(STK_ERRANDS_DAMAGED, 1);
        return STK_ERRAND_DAMAGED;
    }
    if (error != -ENOENT && !is_want_of_room(error)) {
        note_error(false, error);
    }
    return STK_ERRAND_NO;
}

static enum stk_errand_answer fetch(const struct stk_errand_wish *wish, uint64_t *check)
{
    int draft = open_draft(wish);
    if (draft < 0) {
        return STK_ERRAND_NO;
    }
    int error = shared_fetch(&courier.shared, wish->path, wish->bytes, draft, check);
    stk_sys_close(draft);
    if (error == 0) {
        note_success(false);
        count(STK_ERRANDS_FETCHED, 1);
        count(STK_ERRANDS_FETCHED_BYTES, wish->bytes);
    }
    return answer_of(error);
}

static void *fetch_all(void *context)
{
    struct stk_errand_taken taken;
    while (stk_errand_take(courier.errands, false, &taken)) {
        const struct stk_errand_wish *wish = &taken.wish;
        uint64_t check = 0;
        enum stk_errand_answer answer =
            !is_sound(wish) ? STK_ERRAND_NO
            : wish->kind == STK_ERRAND_LOOK
                ? answer_of(shared_look(&courier.shared, wish->path, wish->bytes))
                : fetch(wish, &check);
        stk_errand_answer(&taken, answer, check);
    }
    return context;
}

/* ---- to there ---- */

static bool is_full(void)
{
    int64_t full_ns = atomic_load(&courier.full_ns);
    return full_ns != 0 && stk_clock_boottime_ns() - full_ns < FULL_NS;
}

static int put_there(const struct stk_errand_wish *wish, int entry)
{
    if (!wish->repairs && shared_look(&courier.shared, wish->path, wish->bytes) == 0) {
        return -EEXIST;
    }
    int error = is_full() ? -ENOSPC : shared_take_room(&courier.shared, wish->bytes);
    if (error != 0) {
        return error;
    }
    error = shared_publish(&courier.shared, wish->path, wish->bytes, entry, wish->repairs);
    if (error != 0) {
        shared_give_room(&courier.shared, wish->bytes);
    }
    if (is_want_of_room(error)) {
        atomic_store(&courier.full_ns, stk_clock_boottime_ns());
    }
    return error;
}

static void publish(const struct stk_errand_wish *wish)
{
    int entry = open_entry(wish);
    if (entry < 0) {
        return; /* it has made room for others */
    }
    int error = put_there(wish, entry);
    stk_sys_close(entry);
    if (error == 0) {
        note_success(true);
        count(STK_ERRANDS_PUBLISHED, 1);
        count(STK_ERRANDS_PUBLISHED_BYTES, wish->bytes);
    } else if (is_want_of_room(error)) {
        count(STK_ERRANDS_FULL, 1);
    } else if (error != -EEXIST) {
        note_error(true, error);
    }
}

static void *publish_all(void *late)
{
    _Atomic int64_t *late_ns = late;
    struct stk_errand_taken taken;
    yield_to_others();
    while (stk_errand_take(courier.errands, true, &taken)) {
        int64_t allowed_ns =
            PUBLISH_NS + (int64_t)(taken.wish.bytes / PUBLISH_RATE_S) * STK_NS_PER_S;
        atomic_store(late_ns, stk_clock_boottime_ns() + allowed_ns);
        if (is_sound(&taken.wish)) {
            publish(&taken.wish);
        }
        atomic_store(late_ns, 0);
        stk_errand_answer(&taken, STK_ERRAND_NO, 0);
    }
    atomic_fetch_sub(&courier.alive, 1);
    return NULL;
}

/* ---- the process ---- */

static void start_threads(void)
{
    pthread_t thread;
    for (int i = 0; i < FETCHERS; i++) {
        thread_start(&thread, fetch_all, NULL);
    }
    for (int i = 0; i < PUBLISHERS; i++) {
        atomic_fetch_add(&courier.alive, 1);
        if (!thread_start(&thread, publish_all, &courier.late_ns[i])) {
            atomic_fetch_sub(&courier.alive, 1);
        }
    }
}

/* Waits for a moment. Returns for how long all of us were stopped meanwhile, as schedulers and
 * sleeping machines do it: no server was slow for that. */
static int64_t wait_a_step(void)
{
    int64_t began_ns = stk_clock_boottime_ns();
    nanosleep(&(struct timespec){0, STEP_NS}, NULL);
    int64_t took_ns = stk_clock_boottime_ns() - began_ns;
    return took_ns > STOPPED_NS ? took_ns : 0;
}

/* Who has begun something else meanwhile has a time of its own. */
static void look_for_late_ones(int64_t stopped_ns)
{
    int64_t now_ns = stk_clock_boottime_ns();
    for (int i = 0; i < PUBLISHERS; i++) {
        int64_t late_ns = atomic_load(&courier.late_ns[i]);
        bool moved =
            late_ns != 0 && stopped_ns > 0 &&
            atomic_compare_exchange_strong(&courier.late_ns[i], &late_ns, late_ns + stopped_ns);
        if (late_ns != 0 && !moved && now_ns > late_ns) {
            stk_errands_close(courier.errands, STK_ERRANDS_LATE);
        }
    }
}

static void *make_room(void *session)
{
    passing_watch(session);
    return NULL;
}

static void *sweep(void *context)
{
    yield_to_others();
    shared_sweep(&courier.shared);
    return context;
}

void courier_work(struct session *session, const struct shared *shared, pid_t parent, int told)
{
    pthread_t sweeper, watcher;
    courier.catalogue = &session->catalogue;
    courier.errands = stk_run_errands(&session->run);
    courier.shared = *shared;
    apart_stand_alone(parent, told);
    struct courier_told setup = {.error = shared_open(&courier.shared)};
    memcpy(setup.home, courier.shared.home, sizeof setup.home);
    if (setup.error == 0) {
        stk_errands_open(courier.errands);
    }
    if (write(told, &setup, sizeof setup) != (ssize_t)sizeof setup || setup.error != 0) {
        _exit(1);
    }
    close(told);
    start_threads();
    thread_start(&watcher, make_room, session);
    thread_start(&sweeper, sweep, NULL);
    while (atomic_load(&courier.alive) > 0) {
        look_for_late_ones(wait_a_step());
    }
    shared_end_room(&courier.shared);
    _exit(0);
}
