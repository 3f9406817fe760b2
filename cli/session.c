/* Beginning and ending runs. See cli/session.h. */
#include "cli/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/walk.h"
#include "cli/drafts.h"
#include "cli/live.h"
#include "cli/lock.h"
#include "cli/passing.h"
#include "cli/refusal.h"
#include "cli/say.h"
#include "cli/tiers.h"

/* ---- what dead runs left ---- */

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

struct sweep {
    const char *home; /* of the catalogue */
    bool any_dead;
};

static void remove_if_dead(const char *path, void *context)
{
    struct sweep *sweep = context;
    if (live_is_over(path)) {
        passing_sweep(sweep->home, path);
        unlink_run(path);
        sweep->any_dead = true;
    }
}

/* ---- removing ---- */

/* Whether this may be removed with all that is in it: as every home it is named for its user, and
 * nobody else can have put things there. */
static bool is_removable(const char *home)
{
    return stk_home_is_name(stk_path_leaf(home)) && stk_home_check(home) == 0;
}

/* Removes a home with all that is in it. */
static void remove_home(const char *home, struct session_removal *removal)
{
    struct stat stat_;
    bool there = lstat(home, &stat_) == 0;
    int error = there ? stk_walk_remove(home) : 0;
    removal->failed += error != 0;
    removal->homes += there && error == 0;
}

static void die_for_lock(const char *home, int error)
{
    if (error == -EBUSY) {
        die("%s/lock is held by another stoker, which may be stopped: wait for it, or kill it",
            home);
    }
    die("%s/lock: %s", home, strerror(-error));
}

/* Whether this is the home in that directory. */
static bool is_in(const char *directory, const char *home)
{
    char named[STK_HOME_BYTES];
    char *canonical = realpath(directory, NULL);
    bool same = canonical != NULL && stk_home_path(named, canonical) && strcmp(named, home) == 0;
    free(canonical);
    return same;
}

/* Which tiers go. */
struct going {
    const char *home; /* of the catalogue */
    bool disks;       /* those on disks, too */
    struct session_removal *removal;
};

static void remove_tier(struct stk_tier *tier, void *context)
{
    const struct going *going = context;
    bool memory = tier->shared != NULL && tier->shared->memory != 0;
    if ((memory || going->disks) && strcmp(tier->home, going->home) != 0 &&
        is_removable(tier->home)) {
        remove_home(tier->home, going->removal);
    } else if (!memory && tier->shared != NULL) {
        drafts_remove_known(going->home, tier);
    }
}

/* Where a home goes first that is removed. What somebody who was killed has left there goes, too.
 */
static void make_way_aside(char aside[STK_HOME_BYTES + 8], const char *home)
{
    snprintf(aside, STK_HOME_BYTES + 8, "%s.gone", home);
    if (stk_home_check(aside) == 0) {
        stk_walk_remove(aside);
    }
}

/* Removes the home of the catalogue in one step, as others see it: who comes meanwhile makes
 * another one, and loses nothing of it. */
static void remove_own_home(const char *home, struct session_removal *removal)
{
    char aside[STK_HOME_BYTES + 8];
    make_way_aside(aside, home);
    remove_home(rename(home, aside) == 0 ? aside : home, removal);
}

/* Removes the homes of the tiers in memory, and the catalogue; but see cache/cache.c: join_kept().
 */
static void remove_memory(struct stk_catalogue *catalogue, const char *home)
{
    struct session_removal removal = {.homes = 0};
    const struct tiers tiers = {.catalogue = catalogue, .only = NULL};
    struct going going = {.home = home, .disks = false, .removal = &removal};
    atomic_store(&catalogue->header->closed, 1);
    if (atomic_load(&catalogue->header->kept) != 0) {
        atomic_store(&catalogue->header->closed, 0);
        return;
    }
    tiers_each(&tiers, remove_tier, &going);
    remove_own_home(home, &removal);
}

/* Under the lock: removes dead runs' files, and everything in memory when nobody uses it. */
static bool sweep_locked(const char *home)
{
    static struct stk_catalogue catalogue;
    char aside[STK_HOME_BYTES + 8];
    struct sweep sweep = {.home = home};
    make_way_aside(aside, home);
    live_each_file(home, remove_if_dead, &sweep);
    if (!sweep.any_dead || live_count(home).runs > 0 ||
        stk_catalogue_open(&catalogue, home, false) != 0) {
        return sweep.any_dead;
    }
    remove_memory(&catalogue, home);
    stk_catalogue_close(&catalogue);
    return sweep.any_dead;
}

bool session_sweep(void)
{
    char home[STK_HOME_BYTES];
    if (stk_home_find_existing(home) != 0) {
        return false;
    }
    int lock = lock_take(home, 0);
    if (lock < 0) {
        die_for_lock(home, lock);
    }
    bool any = sweep_locked(home);
    lock_release(lock);
    return any;
}

/* Returns true if processes that use the catalogue may use what is to go. */
static bool knows_it(const struct tiers *tiers, const char *home)
{
    struct stk_tier tier;
    bool known = *home != '\0' && (tiers->only == NULL || is_in(tiers->only, home));
    for (unsigned i = 0; !known && tiers->catalogue != NULL && i < STK_TIERS; i++) {
        known = stk_tier_by_index(tiers->catalogue, i, &tier) && is_in(tiers->only, tier.home);
    }
    return known;
}

/* Under the lock, if there is a catalogue; its home is "" if not. */
static void remove_locked(struct tiers *tiers, const char *home, struct session_removal *removal)
{
    struct going going = {.home = home, .disks = true, .removal = removal};
    bool known = knows_it(tiers, home);
    removal->live = known ? live_count(home).runs : 0;
    if (removal->live > 0) {
        return;
    }
    bool with_own = *home != '\0' && (tiers->only == NULL || is_in(tiers->only, home));
    int alone = known ? stk_catalogue_lock(home) : -ENOENT;
    if (alone == -EBUSY) { /* a home in use stays: another user could take its name */
        removal->used = true;
        return;
    }
    if (with_own && tiers->catalogue != NULL) {
        atomic_store(&tiers->catalogue->header->closed, 1);
    }
    tiers_each(tiers, remove_tier, &going);
    if (with_own) {
        remove_own_home(home, removal);
    }
    if (alone >= 0) {
        close(alone);
    }
}

struct session_removal session_remove_all(const char *only)
{
    static struct stk_catalogue catalogue;
    struct session_removal removal = {.homes = 0};
    struct tiers tiers = {.catalogue = NULL, .only = only};
    char home[STK_HOME_BYTES];
    if (stk_home_find_existing(home) != 0) {
        *home = '\0';
    }
    int lock = *home != '\0' ? lock_take(home, 0) : -1;
    if (*home != '\0' && lock < 0) {
        die_for_lock(home, lock);
    }
    /* One of another version, or damaged: which tiers it had, nobody knows. */
    if (*home != '\0' && stk_catalogue_open(&catalogue, home, false) == 0) {
        tiers.catalogue = &catalogue;
    }
    remove_locked(&tiers, home, &removal);
    if (tiers.catalogue != NULL) {
        stk_catalogue_close(&catalogue);
    }
    lock_release(lock);
    return removal;
}

bool session_look(struct session *session)
{
    memset(session, 0, sizeof *session);
    session->run_lock = -1;
    return stk_home_find_existing(session->home) == 0 &&
           stk_catalogue_open(&session->catalogue, session->home, false) == 0;
}

/* ---- beginning ---- */

static struct refusal refusal_by_home(int error)
{
    return (struct refusal){.error = error};
}

/* Makes a name that cannot be guessed: notices are taken only from processes that know it
 * (cli/notices.h). */
static void name_run(char *out, size_t bytes)
{
    const void *random = (const void *)getauxval(AT_RANDOM); /* 16 bytes of the kernel's */
    uint64_t secret = random != NULL ? stk_hash_64(random, 16, 0) : 0;
    snprintf(out, bytes, "%d-%llx-%llx", getpid(), (unsigned long long)stk_clock_boottime_ns(),
             (unsigned long long)secret);
}

static int make_run_file(struct session *session)
{
    char name[64], path[STK_HOME_BYTES];
    name_run(name, sizeof name);
    int error = stk_run_create(&session->run, session->home, name);
    if (error != 0) {
        return error;
    }
    stk_run_path(path, session->home, name);
    session->run_lock = open(path, O_RDONLY | O_CLOEXEC);
    return session->run_lock < 0 || flock(session->run_lock, LOCK_EX) != 0 ? -errno : 0;
}

/* For want of one, images are decoded and not counted. */
static void make_tally(struct session *session)
{
    char path[STK_HOME_BYTES + 300];
    if (stk_tally_path(path, sizeof path, session->run.path) && stk_tally_create(path) == 0) {
        session->tally = stk_tally_open(path);
    }
}

/* With nobody else at work the tier is looked over beside the job (cli/watch.h), since fillers may
 * have been killed, and the budget follows from what is remembered. Beside other runs only a budget
 * that the user names is set. */
static int settle_budget(struct session *session, struct stk_tier *tier, int64_t budget_bytes,
                         bool alone)
{
    unsigned i = (unsigned)(tier - session->tiers);
    int error = 0;
    if (alone) {
        /* Those of processes outside of any run, which still exist, and of other places stay. */
        drafts_remove_dead(session->home, tier);
        stk_grant_forget(tier);
        session->recounts[i] = stk_tier_recount_begin(tier->shared, &session->recount[i]) == 0;
    }
    if (alone || budget_bytes >= 0) {
        error = stk_tier_set_budget(tier, budget_bytes);
    }
    return error;
}

static void note_made(struct session *session, const char *directory)
{
    char *home = session->made_tiers[session->made_count];
    if (stk_home_path(home, directory) && access(home, F_OK) != 0) {
        session->made_count++;
    }
}

struct attaching {
    struct session *session;
    const struct request *request;
    bool alone;
};

static int attach_one(const struct attaching *attaching, const struct request_tier *wanted,
                      struct stk_tier *tier)
{
    struct session *session = attaching->session;
    note_made(session, wanted->directory);
    session->shared =
        stk_group_prepare(&attaching->request->group, wanted->directory) || session->shared;
    int error = stk_tier_attach(&session->catalogue, wanted->directory, wanted->budget_bytes, tier);
    tier->guarded = true; /* by us */
    /* A full tier may have room when drafts are gone; but not one where no home could be made. */
    if (error == 0 || (error == -ENOSPC && tier->shared != NULL)) {
        error = settle_budget(session, tier, wanted->budget_bytes, attaching->alone);
    }
    return error;
}

/* Attaches a tier as the session's next one, if that is possible. */
static int attach_tier(void *context, const struct request_tier *wanted, int64_t *budget_bytes)
{
    const struct attaching *attaching = context;
    struct session *session = attaching->session;
    struct stk_tier *tier = &session->tiers[session->tier_count];
    int error = attach_one(attaching, wanted, tier);
    if (error != 0) {
        *tier = (struct stk_tier){.shared = NULL};
        return error;
    }
    if (tier->shared->memory == 0) {
        tiers_remember(tier->home);
    }
    *budget_bytes = tier->shared->budget.blocks * STK_BLOCK_BYTES;
    session->tier_count++;
    return 0;
}

static int open_catalogue(struct session *session)
{
    int error = stk_home_ensure(session->home);
    if (error == 0) {
        error = stk_home_ensure_room(session->home, "runs");
    }
    return error != 0 ? error : stk_catalogue_open(&session->catalogue, session->home, true);
}

static struct refusal begin_locked(struct session *session, struct request *request)
{
    bool alone = live_count(session->home).runs == 0;
    int error = open_catalogue(session);
    if (error == 0) {
        error = make_run_file(session); /* before the tier counts what is used */
    }
    if (error != 0) {
        return refusal_by_home(error);
    }
    make_tally(session);
    struct attaching attaching = {session, request, alone};
    struct refusal refusal = refusal_use_tiers(request, attach_tier, &attaching);
    if (refusal.error != 0) {
        return refusal;
    }
    samples_begin(&session->samples, request, &session->tier, session->tally);
    if (request->keep) {
        atomic_store(&session->catalogue.header->kept, STK_KEPT);
    }
    return refusal_by_home(0);
}

/* The lock, or -EBUSY, which is said: what it guards goes wrong only beside a run that ends. */
static int lock_to_begin(const char *home)
{
    int lock = lock_take(home, 1);
    if (lock == -EBUSY) {
        say("%s/lock is held by another stoker, which may be stopped: going on without it", home);
    }
    return lock;
}

static struct refusal begin(struct session *session, struct request *request)
{
    for (;;) {
        int error = stk_home_find(session->home);
        int lock = error == 0 ? lock_to_begin(session->home) : error;
        if (lock < 0 && lock != -EBUSY) {
            return refusal_by_home(lock);
        }
        if (lock >= 0) {
            /* The sweep may remove the home, and the lock with it: then begin again. */
            sweep_locked(session->home);
            lock_release(lock);
            lock = lock_take(session->home, 1);
        }
        if (lock >= 0 || lock == -EBUSY) {
            struct refusal refusal = begin_locked(session, request);
            lock_release(lock);
            return refusal;
        }
    }
}

static void say_if_in_the_way(const char *home)
{
    if (stk_home_is_further_name(stk_path_leaf(home))) {
        say("%.*s is somebody else's: using %s", (int)(strrchr(home, '.') - home), home, home);
    }
}

/* Whoever has taken the name of a home, by accident or not, should be asked to give it back. */
static void say_what_is_in_the_way(const struct session *session)
{
    say_if_in_the_way(session->home);
    for (unsigned i = 0; i < session->tier_count; i++) {
        if (strcmp(session->home, session->tiers[i].home) != 0) {
            say_if_in_the_way(session->tiers[i].home);
        }
    }
}

bool session_begin(struct session *session, struct request *request)
{
    memset(session, 0, sizeof *session);
    session->run_lock = -1;
    struct refusal refusal = begin(session, request);
    if (refusal.error != 0) {
        session_undo(session);
        refusal_explain(&refusal, session->home, request);
    } else {
        say_what_is_in_the_way(session);
    }
    return refusal.error == 0;
}

/* ---- ending ---- */

/* Removes a home in which no catalogue could be made, if nothing else is there. Leaves a link's
 * target alone. */
static void remove_empty(const char *home)
{
    char path[STK_HOME_BYTES + 8];
    struct stat stat_;
    bool directory = lstat(home, &stat_) == 0 && S_ISDIR(stat_.st_mode);
    snprintf(path, sizeof path, "%s/catalogue", home);
    if (directory && access(path, F_OK) != 0) {
        snprintf(path, sizeof path, "%s/runs", home);
        rmdir(path);
        snprintf(path, sizeof path, "%s/lock", home);
        unlink(path);
        rmdir(home);
    }
}

/* Under the lock, when no run lives. */
static void remove_own(struct session *session)
{
    if (session->catalogue.header == NULL) {
        remove_empty(session->home);
    } else if (stk_catalogue_is_current(&session->catalogue)) {
        remove_memory(&session->catalogue, session->home);
    }
}

/* What was set aside for samples is nobody's when no run lives, and a disk's account outlives the
 * catalogue: a run that begins beside another counts nothing anew, and would go without it. */
static void end_grants(struct session *session)
{
    struct stk_tier tier;
    for (unsigned i = 0; session->catalogue.header != NULL && i < STK_TIERS; i++) {
        if (stk_tier_by_index(&session->catalogue, i, &tier)) {
            stk_grant_forget(&tier);
            stk_tier_announce(tier.shared, true);
        }
    }
}

void session_end(struct session *session)
{
    int lock = lock_take(session->home, 0);
    for (unsigned i = 0; i < session->tier_count; i++) {
        stk_tier_announce(session->tiers[i].shared, true);
    }
    if (session->run_lock >= 0) {
        unlink_run(session->run.path);
        close(session->run_lock);
    }
    if (lock >= 0 && live_count(session->home).runs == 0) {
        end_grants(session);
        remove_own(session);
    }
    lock_release(lock);
}

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

static enum session_guest end_guest_locked(struct stk_catalogue *catalogue, const char *home)
{
    uint32_t guest = STK_KEPT_GUEST;
    if (atomic_load(&catalogue->header->kept) == STK_KEPT) {
        return SESSION_GUEST_KEPT;
    }
    bool runs = live_count(home).runs > 0;
    int alone = runs ? -1 : lock_catalogue(home);
    if (!runs && alone < 0) {
        return SESSION_GUEST_USED;
    }
    bool kept = !atomic_compare_exchange_strong(&catalogue->header->kept, &guest, STK_KEPT_NOT);
    if (!kept && !runs) {
        remove_memory(catalogue, home);
    }
    if (alone >= 0) {
        close(alone);
    }
    return kept ? SESSION_GUEST_KEPT : runs ? SESSION_GUEST_USED : SESSION_GUEST_GONE;
}

enum session_guest session_end_guest(const char *home)
{
    static struct stk_catalogue catalogue;
    enum session_guest end = SESSION_GUEST_USED;
    int lock = is_removable(home) ? lock_take(home, 0) : -EPERM;
    if (lock >= 0 && stk_catalogue_open(&catalogue, home, false) == 0) {
        end = end_guest_locked(&catalogue, home);
        stk_catalogue_close(&catalogue);
    }
    lock_release(lock);
    return end;
}

void session_undo(struct session *session)
{
    session_end(session);
    for (unsigned i = 0; i < session->made_count; i++) {
        if (is_removable(session->made_tiers[i])) {
            stk_walk_remove(session->made_tiers[i]);
        }
    }
    memset(session->tiers, 0, sizeof session->tiers);
    session->tier_count = 0;
}
