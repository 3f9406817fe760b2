#include "cli/run/removal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/path.h"
#include "base/sys.h"
#include "base/tally.h"
#include "base/walk.h"
#include "cache/catalogue/changes.h"
#include "cache/tier/tier.h"
#include "cli/os/home_lock.h"
#include "cli/os/team_walk.h"
#include "cli/out/say.h"
#include "cli/run/live_runs.h"
#include "cli/run/transient_entries.h"
#include "cli/tiers/drafts.h"
#include "cli/tiers/known_tiers.h"

/* ---- what dead runs left ---- */

/* Ends the tally. Processes that outlive their run see by it that nothing is reserved for them any
 * more. */
static void unlink_tally(const char *path)
{
    struct stk_tally *tally = stk_tally_open(path);
    if (tally != NULL) {
        stk_tally_revoke(tally);
        stk_tally_close(tally);
    }
    unlink(path);
}

void removal_unlink_run(const char *path)
{
    char tally[STK_HOME_BYTES + 300];
    if (stk_tally_path(tally, sizeof tally, path)) {
        unlink_tally(tally);
    }
    unlink(path);
}

struct sweep {
    const char *home; /* of the catalogue */
    bool any_dead;
};

static void remove_if_dead(const char *path, void *context)
{
    struct sweep *sweep = context;
    if (live_is_over(path)) {
        transient_sweep(sweep->home, path);
        removal_unlink_run(path);
        sweep->any_dead = true;
    }
}

/* ---- removing ---- */

/* The tiers to remove. */
struct going {
    const char *home; /* of the catalogue */
    bool disks;       /* tiers on disks, too */
    struct removed_homes *removal;
    void (*tell)(const struct removed_home *home); /* or NULL */
};

bool removal_is_allowed(const char *home)
{
    return stk_home_is_name(stk_path_leaf(home)) && stk_home_check(home) == 0;
}

static _Atomic uint64_t removed_files;

uint64_t removal_files(void)
{
    return atomic_load(&removed_files);
}

struct removed {
    _Atomic uint64_t files, blocks;
};

static int remove_one(void *context, int dirfd, const char *name, const struct stat *stat)
{
    struct removed *gone = context;
    bool directory = S_ISDIR(stat->st_mode);
    if (unlinkat(dirfd, name, directory ? AT_REMOVEDIR : 0) == 0 && !directory) {
        gone->files++;
        gone->blocks += (uint64_t)stat->st_blocks;
        atomic_fetch_add(&removed_files, 1);
    }
    return 0;
}

/* Removes a home with all its contents, which are at `path` now. */
static void remove_home(const char *home, const char *path, const struct going *going)
{
    struct stat stat_;
    struct removed gone = {0, 0};
    bool there = lstat(path, &stat_) == 0;
    team_walk(path, remove_one, &gone); /* the files; directories go behind them */
    bool failed = there && (stk_walk_within(path, remove_one, &gone) < 0 ||
                            (rmdir(path) != 0 && errno != ENOENT));
    going->removal->failed += failed;
    going->removal->homes += there && !failed;
    if (there && going->tell != NULL) {
        const struct removed_home told = {home, gone.files, gone.blocks};
        going->tell(&told);
    }
}

static void die_for_lock(const char *home, int error)
{
    if (error == -EBUSY) {
        die("%s/lock is held by another stoker, which may be stopped: wait for it, or kill it",
            home);
    }
    die("%s/lock cannot be locked: %s", home, strerror(-error));
}

/* Returns true if this is the home in that directory. */
static bool is_in(const char *directory, const char *home)
{
    char named[STK_HOME_BYTES];
    OWNED char *canonical = realpath(directory, NULL);
    return canonical != NULL && stk_home_path(named, canonical) && strcmp(named, home) == 0;
}

static void remove_tier(struct stk_tier *tier, void *context)
{
    const struct going *going = context;
    bool memory = tier->shared != NULL && tier->shared->memory != 0;
    if ((memory || going->disks) && strcmp(tier->home, going->home) != 0 &&
        removal_is_allowed(tier->home)) {
        remove_home(tier->home, tier->home, going);
    } else if (!memory && tier->shared != NULL) {
        drafts_remove_known(going->home, tier);
    }
}

/* Makes room for the name under which a home is removed. Leftovers of a killed process under that
 * name go, too. */
static void clear_gone(char gone[STK_HOME_BYTES + 8], const char *home)
{
    snprintf(gone, STK_HOME_BYTES + 8, "%s.gone", home);
    if (stk_home_check(gone) == 0) {
        stk_walk_remove(gone);
    }
}

/* Removes the home of the catalogue in one step: it is renamed first. A process that comes
 * meanwhile makes a new home, and loses nothing of it. */
static void remove_own_home(const struct going *going)
{
    char gone[STK_HOME_BYTES + 8];
    clear_gone(gone, going->home);
    remove_home(going->home, rename(going->home, gone) == 0 ? gone : going->home, going);
}

/* Notes that everything was written. Processes that outlive the catalogue read the origin from then
 * on: later runs note their changes in another catalogue. */
static void end_belief(struct stk_catalogue *catalogue)
{
    stk_changes_note(catalogue, STK_CHANGES_EVERYTHING, STK_WRITTEN, NULL);
}

void removal_empty_memory(struct stk_catalogue *catalogue, const char *home)
{
    struct removed_homes removal = {.homes = 0};
    const struct tiers tiers = {.catalogue = catalogue, .only = NULL};
    struct going going = {.home = home, .disks = false, .removal = &removal};
    atomic_store(&catalogue->header->closed, 1);
    if (atomic_load(&catalogue->header->kept) != 0) {
        atomic_store(&catalogue->header->closed, 0);
        return;
    }
    end_belief(catalogue);
    tiers_each(&tiers, remove_tier, &going);
    remove_own_home(&going);
}

/* Removes a home whose catalogue is of another version of Stoker, or damaged, unless a process uses
 * it. Its tiers are unknown; the usual one is the home itself. */
static void remove_foreign(const char *home)
{
    struct removed_homes removal = {.homes = 0};
    const struct going going = {.home = home, .removal = &removal};
    int alone = removal_is_allowed(home) ? stk_catalogue_lock(home) : -EPERM;
    if (alone >= 0) {
        remove_own_home(&going);
        close(alone);
        say("%s had an index of another version of Stoker: %s", home,
            removal.homes > 0 ? "removed" : "could not be removed");
    }
}

/* Removes a catalogue that no run uses and that is not kept, unless a process uses it: that of a
 * killed run may live in another pid namespace. A closed one is of no use to any process. Its
 * removal had begun, and the process that removed it was killed. */
static void empty_unused(struct stk_catalogue *catalogue, const char *home)
{
    bool closed = atomic_load(&catalogue->header->closed) != 0;
    bool unused = closed || atomic_load(&catalogue->header->kept) == STK_KEPT_NOT;
    STK_OWNED_FD int alone = unused ? stk_catalogue_lock(home) : -EBUSY;
    if (closed || alone >= 0) {
        removal_empty_memory(catalogue, home);
    }
}

bool removal_sweep_locked(const char *home)
{
    static struct stk_catalogue catalogue;
    char gone[STK_HOME_BYTES + 8];
    struct sweep sweep = {.home = home};
    clear_gone(gone, home);
    live_each_file(home, remove_if_dead, &sweep);
    if (live_count(home).runs > 0) {
        return sweep.any_dead;
    }
    int error = stk_catalogue_open(&catalogue, home, false);
    if (error == -EPROTO) {
        remove_foreign(home);
    } else if (error == 0) {
        empty_unused(&catalogue, home);
        stk_catalogue_close(&catalogue);
    }
    return sweep.any_dead;
}

/* Locks the home that has a catalogue, and writes its path. Returns the lock, or -ENOENT and "" if
 * there is no such home: a run that ends may remove it at any moment. */
static int lock_existing(char home[STK_HOME_BYTES])
{
    int lock = stk_home_find_existing(home) == 0 ? lock_take(home, 0) : -ENOENT;
    if (lock == -ENOENT) {
        *home = '\0';
    } else if (lock < 0) {
        die_for_lock(home, lock);
    }
    return lock;
}

bool removal_sweep(void)
{
    char home[STK_HOME_BYTES];
    int lock = lock_existing(home);
    bool any = lock >= 0 && removal_sweep_locked(home);
    lock_release(lock);
    return any;
}

void removal_try_sweep(const char *home)
{
    int lock = lock_take(home, 0);
    if (lock >= 0) {
        removal_sweep_locked(home);
    }
    lock_release(lock);
}

/* Returns true if processes that use the catalogue may use a tier that is to go. */
static bool knows_it(const struct tiers *tiers, const char *home)
{
    struct stk_tier tier;
    bool known = *home != '\0' && (tiers->only == NULL || is_in(tiers->only, home));
    for (unsigned i = 0; !known && tiers->catalogue != NULL && i < STK_TIERS; i++) {
        known = stk_tier_by_index(tiers->catalogue, i, &tier) && is_in(tiers->only, tier.home);
    }
    return known;
}

/* Call it under the lock if there is a catalogue; else the home is "". */
static void remove_locked(struct tiers *tiers, struct going *going)
{
    const char *home = going->home;
    struct removed_homes *removal = going->removal;
    bool known = knows_it(tiers, home);
    removal->live = known ? live_count(home).runs : 0;
    if (removal->live > 0) {
        return;
    }
    bool with_own = *home != '\0' && (tiers->only == NULL || is_in(tiers->only, home));
    STK_OWNED_FD int alone = known ? stk_catalogue_lock(home) : -ENOENT;
    if (alone == -EBUSY) { /* a home in use stays: another user could take its name */
        removal->used = true;
        return;
    }
    if (with_own && tiers->catalogue != NULL) {
        atomic_store(&tiers->catalogue->header->closed, 1);
        end_belief(tiers->catalogue);
    }
    tiers_each(tiers, remove_tier, going);
    if (with_own) {
        remove_own_home(going);
    }
}

struct removed_homes removal_remove_all(const char *only,
                                        void (*tell)(const struct removed_home *home))
{
    static struct stk_catalogue catalogue;
    struct removed_homes removal = {.homes = 0};
    struct tiers tiers = {.catalogue = NULL, .only = only};
    char home[STK_HOME_BYTES];
    struct going going = {.home = home, .disks = true, .removal = &removal, .tell = tell};
    int lock = lock_existing(home);
    /* if it is of another version, or damaged, its tiers are unknown */
    if (*home != '\0' && stk_catalogue_open(&catalogue, home, false) == 0) {
        tiers.catalogue = &catalogue;
    }
    remove_locked(&tiers, &going);
    if (tiers.catalogue != NULL) {
        stk_catalogue_close(&catalogue);
    }
    lock_release(lock);
    return removal;
}

/* ---- homes of a run's users ---- */

/* Locks a home's catalogue, and waits a moment for processes that are ending. */
static int lock_catalogue(const char *home)
{
    const struct timespec pause = {0, 20000000};
    int alone = stk_catalogue_lock(home);
    for (int i = 0; i < 50 && alone == -EBUSY; i++) {
        nanosleep(&pause, NULL);
        alone = stk_catalogue_lock(home);
    }
    return alone;
}

static enum removal_user end_run_user_locked(struct stk_catalogue *catalogue, const char *home)
{
    uint32_t user = STK_KEPT_BY_RUN;
    if (atomic_load(&catalogue->header->kept) == STK_KEPT) {
        return REMOVAL_USER_KEPT;
    }
    bool runs = live_count(home).runs > 0;
    STK_OWNED_FD int alone = runs ? -1 : lock_catalogue(home);
    if (!runs && alone < 0) {
        return REMOVAL_USER_USED;
    }
    bool kept = !atomic_compare_exchange_strong(&catalogue->header->kept, &user, STK_KEPT_NOT);
    if (!kept && !runs) {
        removal_empty_memory(catalogue, home);
    }
    return kept ? REMOVAL_USER_KEPT : runs ? REMOVAL_USER_USED : REMOVAL_USER_GONE;
}

/* A process in a user namespace names its home for the user that it is there. */
enum removal_user removal_end_run_user(const char *home)
{
    static struct stk_catalogue catalogue;
    enum removal_user end = REMOVAL_USER_USED;
    int lock = stk_home_check(home) == 0 ? lock_take(home, 0) : -EPERM;
    if (lock >= 0 && stk_catalogue_open(&catalogue, home, false) == 0) {
        end = end_run_user_locked(&catalogue, home);
        stk_catalogue_close(&catalogue);
    }
    lock_release(lock);
    return end;
}
