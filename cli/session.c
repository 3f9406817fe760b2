/* Beginning and ending runs. See cli/session.h. */
#include "cli/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/walk.h"
#include "cli/lock.h"
#include "cli/say.h"

/* ---- runs that live, and what the dead left ---- */

/* Calls `visit` for each run's file but the one outside of runs. */
static void each_run(const char *home, void (*visit)(const char *path, void *context),
                     void *context)
{
    char path[STK_HOME_BYTES + 300];
    snprintf(path, sizeof path, "%s/runs", home);
    DIR *runs = opendir(path);
    struct dirent *entry;
    while (runs != NULL && (entry = readdir(runs)) != NULL) {
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, STK_RUN_OUTSIDE) != 0) {
            snprintf(path, sizeof path, "%s/runs/%s", home, entry->d_name);
            visit(path, context);
        }
    }
    if (runs != NULL) {
        closedir(runs);
    }
}

static void count_if_live(const char *path, void *context)
{
    *(unsigned *)context += lock_is_held(path) ? 1 : 0;
}

unsigned session_count_live(const char *home)
{
    unsigned live = 0;
    each_run(home, count_if_live, &live);
    return live;
}

/* Processes that outlive their run are told that nobody reserves for them any more. */
static void unlink_tally(const char *path)
{
    struct stk_tally *tally = stk_tally_open(path);
    if (tally != NULL) {
        stk_tally_revoke(tally);
        stk_tally_close(tally);
    }
    unlink(path);
}

static void unlink_run(const char *path)
{
    char tally[STK_HOME_BYTES + 300];
    if (stk_tally_path(tally, sizeof tally, path)) {
        unlink_tally(tally);
    }
    unlink(path);
}

static void remove_if_dead(const char *path, void *context)
{
    if (!lock_is_held(path)) {
        unlink_run(path);
        *(bool *)context = true;
    }
}

/* Whether a process does not run any more: unknown, or a zombie that nobody has waited for. */
static bool is_gone(pid_t pid)
{
    char path[32], stat[512];
    if (kill(pid, 0) != 0) {
        return errno == ESRCH;
    }
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    const char *state = stk_proc_read_text(path, stat, sizeof stat) > 0 ? strrchr(stat, ')') : NULL;
    return state != NULL && strncmp(state, ") Z", 3) == 0;
}

/* Unlinks the drafts of fillers that are gone. Without live runs all are, but those of processes
 * outside of any run, which still exist. */
static void remove_dead_drafts(const char *tier_home)
{
    char path[STK_HOME_BYTES + 300];
    snprintf(path, sizeof path, "%s/fill", tier_home);
    DIR *drafts = opendir(path);
    struct dirent *entry;
    while (drafts != NULL && (entry = readdir(drafts)) != NULL) {
        pid_t pid = (pid_t)atol(entry->d_name);
        if (pid > 0 && is_gone(pid)) {
            snprintf(path, sizeof path, "%s/fill/%s", tier_home, entry->d_name);
            unlink(path);
        }
    }
    if (drafts != NULL) {
        closedir(drafts);
    }
}

/* ---- removing ---- */

/* Whether this may be removed with all that is in it: as every home it is named for its user, which
 * is the leaf of the catalogue's own, and nobody else can have put things there. */
static bool is_removable(const char *tier_home, const char *home)
{
    return strcmp(stk_path_leaf(tier_home), stk_path_leaf(home)) == 0 &&
           stk_home_check(tier_home) == 0;
}

/* Removes the homes of the tiers in memory (`disks`: and of the others), and the catalogue. */
static void remove_homes(struct stk_catalogue *catalogue, const char *home, bool disks)
{
    struct stk_tier tier;
    atomic_store(&catalogue->header->closed, 1);
    for (unsigned i = 0; i < STK_TIERS; i++) {
        bool known = stk_tier_by_index(catalogue, i, &tier);
        if (known && (tier.shared->memory || disks) && strcmp(tier.home, home) != 0 &&
            is_removable(tier.home, home)) {
            stk_walk_remove(tier.home);
        }
    }
    stk_walk_remove(home);
}

/* Under the lock: removes dead runs' files, and everything in memory when nobody uses it. */
static bool sweep_locked(const char *home)
{
    static struct stk_catalogue catalogue;
    bool any_dead = false;
    each_run(home, remove_if_dead, &any_dead);
    if (!any_dead || session_count_live(home) > 0 ||
        stk_catalogue_open(&catalogue, home, false) != 0) {
        return any_dead;
    }
    if (atomic_load(&catalogue.header->kept) == 0) {
        remove_homes(&catalogue, home, false);
    }
    stk_catalogue_close(&catalogue);
    return any_dead;
}

bool session_sweep(void)
{
    char home[STK_HOME_BYTES];
    if (stk_home_find_existing(home) != 0) {
        return false;
    }
    int lock = lock_take(home, 0);
    if (lock < 0) {
        return false;
    }
    bool any = sweep_locked(home);
    lock_release(lock);
    return any;
}

unsigned session_remove_all(void)
{
    static struct stk_catalogue catalogue;
    char home[STK_HOME_BYTES];
    if (stk_home_find_existing(home) != 0) {
        return 0;
    }
    int lock = lock_take(home, 0);
    if (lock < 0) {
        return 0;
    }
    unsigned live = session_count_live(home);
    int error = live == 0 ? stk_catalogue_open(&catalogue, home, false) : 0;
    if (live == 0 && error == 0) {
        remove_homes(&catalogue, home, true);
        stk_catalogue_close(&catalogue);
    } else if (error == -EPROTO) {
        stk_walk_remove(
            home); /* of another version, or damaged: which tiers it had, nobody knows */
    }
    lock_release(lock);
    return live;
}

bool session_look(struct session *session)
{
    memset(session, 0, sizeof *session);
    session->run_lock = -1;
    return stk_home_find_existing(session->home) == 0 &&
           stk_catalogue_open(&session->catalogue, session->home, false) == 0;
}

/* ---- beginning ---- */

static void die_for_home(const char *home, int error)
{
    switch (-error) {
    case EPERM:
        die("%s belongs to another user: remove it, or let its owner do so", home);
    case EACCES:
        die("%s is writable by others: `chmod 700` it, or remove it", home);
    case ELOOP:
        die("%s is a symbolic link: remove it", home);
    case ENOTDIR:
        die("%s is not a directory: remove it", home);
    case EPROTO:
        die("%s holds a catalogue of another version of Stoker: `stoker clear`, or remove it",
            home);
    case ENOSPC:
        die("no tmpfs has room for the catalogue (1 MiB in /dev/shm, XDG_RUNTIME_DIR or /tmp): "
            "free some, or enlarge /dev/shm (docker run --shm-size=1g)");
    default:
        die("%s: %s: no catalogue can be made there", home, strerror(-error));
    }
}

static void die_for_tier(const struct request *request, int error)
{
    const char *tier = request->tier;
    char home[STK_HOME_BYTES];
    stk_home_path(home, tier);
    switch (-error) {
    case EMEDIUMTYPE:
        die("--tier %s: not on a local file system (tmpfs, ext4, xfs, btrfs, overlay): name a "
            "directory on a local disk or in /dev/shm",
            tier);
    case ENOSPC:
        die("--tier %s is full: free some space, name a larger budget, or another tier with "
            "--tier DIR",
            tier);
    case ERANGE:
        die("--tier %s: the budget is larger than the file system: name a smaller one, or none",
            tier);
    case EPERM:
        die("--tier %s: it or %s belongs to another user: name a directory of your own", tier,
            home);
    case EACCES:
        die("--tier %s: it or %s is writable by others: `chmod go-w` it, or name another", tier,
            home);
    case ELOOP:
        die("--tier %s: %s is a symbolic link: remove it, or name another", tier, home);
    case ENOTDIR:
        die("--tier %s: %s is not a directory: remove it, or name another", tier, home);
    default:
        die("--tier %s: %s", tier, strerror(-error));
    }
}

static void make_run_file(struct session *session)
{
    char name[64], path[STK_HOME_BYTES];
    snprintf(name, sizeof name, "%d-%llx", getpid(), (unsigned long long)stk_clock_boottime_ns());
    int error = stk_run_create(&session->run, session->home, name);
    if (error != 0) {
        die_for_home(session->home, error);
    }
    stk_run_path(path, session->home, name);
    session->run_lock = open(path, O_RDONLY | O_CLOEXEC);
    if (session->run_lock < 0 || flock(session->run_lock, LOCK_EX) != 0) {
        die("%s: %s", path, strerror(errno));
    }
}

/* For want of one, images are decoded and not counted. */
static void make_tally(struct session *session)
{
    char path[STK_HOME_BYTES + 300];
    if (stk_tally_path(path, sizeof path, session->run.path) && stk_tally_create(path) == 0) {
        session->tally = stk_tally_open(path);
    }
}

/* With nobody else at work, what is used is counted anew, since fillers may have been killed, and
 * the budget follows from it. Beside other runs only a budget that the user names is set. */
static int settle_budget(struct session *session, const struct request *request, bool alone)
{
    int error = 0;
    if (alone) {
        remove_dead_drafts(session->tier.home);
        stk_grant_forget(&session->tier);
        error = stk_tier_recount(&session->tier);
    }
    if (error == 0 && (alone || request->budget_bytes >= 0)) {
        error = stk_tier_set_budget(&session->tier, request->budget_bytes);
    }
    return error;
}

static void attach_tier(struct session *session, const struct request *request, bool alone)
{
    int error =
        stk_tier_attach(&session->catalogue, request->tier, request->budget_bytes, &session->tier);
    /* A full tier may have room after a recount; but not one where no home could be made. */
    if (error == 0 || (error == -ENOSPC && session->tier.shared != NULL)) {
        error = settle_budget(session, request, alone);
    }
    if (error != 0) {
        die_for_tier(request, error);
    }
}

static void begin_locked(struct session *session, const struct request *request)
{
    bool alone = session_count_live(session->home) == 0;
    int error = stk_home_ensure(session->home);
    if (error == 0) {
        error = stk_home_ensure_room(session->home, "runs");
    }
    if (error == 0) {
        error = stk_catalogue_open(&session->catalogue, session->home, true);
    }
    if (error != 0) {
        die_for_home(session->home, error);
    }
    make_run_file(session); /* before the tier counts what is used */
    make_tally(session);
    attach_tier(session, request, alone);
    samples_begin(&session->samples, request, &session->tier, session->tally);
    if (request->keep) {
        atomic_store(&session->catalogue.header->kept, 1);
    }
}

void session_begin(struct session *session, const struct request *request)
{
    memset(session, 0, sizeof *session);
    for (;;) {
        int error = stk_home_find(session->home);
        int lock = error == 0 ? lock_take(session->home, 1) : error;
        if (lock < 0) {
            die_for_home(session->home, lock);
        }
        /* The sweep may have removed the home, and the lock with it: then begin again. */
        sweep_locked(session->home);
        lock_release(lock);
        lock = lock_take(session->home, 1);
        if (lock >= 0) {
            begin_locked(session, request);
            lock_release(lock);
            return;
        }
    }
}

/* ---- ending ---- */

void session_end(struct session *session)
{
    int lock = lock_take(session->home, 0);
    if (lock < 0) {
        return; /* the home is gone: somebody removed it */
    }
    unlink_run(session->run.path);
    close(session->run_lock);
    if (session_count_live(session->home) == 0 &&
        atomic_load(&session->catalogue.header->kept) == 0 &&
        stk_catalogue_is_current(&session->catalogue)) {
        remove_homes(&session->catalogue, session->home, false);
    }
    lock_release(lock);
}
