#include "cli/run/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/walk.h"
#include "cli/args/refusal.h"
#include "cli/os/home_lock.h"
#include "cli/out/say.h"
#include "cli/run/live_runs.h"
#include "cli/run/removal.h"
#include "cli/tiers/drafts.h"
#include "cli/tiers/known_tiers.h"

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
 * (cli/run/notices.h). */
static void name_run(char *out, size_t bytes)
{
    const void *random = (const void *)getauxval(AT_RANDOM); /* 16 bytes from the kernel */
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

/* Makes the tally. Without one, images are decoded and not counted. */
static void make_tally(struct session *session)
{
    char path[STK_HOME_BYTES + 300];
    if (stk_tally_path(path, sizeof path, session->run.path) && stk_tally_create(path) == 0) {
        session->tally = stk_tally_open(path);
    }
}

/* Settles a tier's budget. If no other run is at work, the tier is counted anew beside the job
 * (cli/run/memory_watch.h): fillers may have been killed. The budget then follows from the ledger.
 * Beside other runs, only a budget that the user names is set. */
static int settle_budget(struct session *session, struct stk_tier *tier, int64_t budget_bytes,
                         bool alone)
{
    unsigned i = (unsigned)(tier - session->tiers);
    int error = 0;
    if (alone) {
        /* drafts of living processes outside of any run stay, and so do those of other namespaces
         */
        drafts_remove_dead(session->home, tier);
        stk_sample_quota_forget(tier);
        session->recounts[i] = stk_tier_recount_begin(tier->shared, &session->recount[i]) == 0;
    }
    if (alone || budget_bytes >= 0) {
        error = stk_tier_set_budget(tier, budget_bytes);
        stk_tier_share_headroom(&session->catalogue);
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
    int error = stk_tier_attach(&session->catalogue, wanted->directory, wanted->budget_bytes, tier);
    tier->guarded = true; /* by this process */
    /* a full tier may have room when drafts are gone, unless no home could be made in it */
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
        error = stk_home_ensure_directory(session->home, "runs");
    }
    return error != 0 ? error : stk_catalogue_open(&session->catalogue, session->home, true);
}

/* Returns how many files the tiers can hold: each takes a page, or a block of its file system. */
static int64_t most_files(const struct session *session)
{
    int64_t files = 0;
    for (unsigned i = 0; i < session->tier_count; i++) {
        const struct stk_tier_shared *tier = session->tiers[i].shared;
        int64_t each = stk_budget_blocks_of(1, tier->block_bytes);
        int64_t fit = atomic_load(&tier->budget.blocks) / each;
        int64_t inodes = atomic_load(&tier->budget.inodes);
        files += fit < inodes ? fit : inodes;
    }
    return files;
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
    stk_catalogue_extend(&session->catalogue, most_files(session), alone);
    samples_begin(&session->samples, request, &session->tier, session->tally);
    if (request->keep) {
        atomic_store(&session->catalogue.header->kept, STK_KEPT);
    }
    return refusal_by_home(0);
}

/* Returns the lock. Returns -EBUSY, after a message: without the lock, things go wrong only beside
 * a run that ends. */
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
            /* if the sweep has removed the home, and the lock with it, begin again */
            removal_sweep_locked(session->home);
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

/* Says that another user has taken the usual name of a home, and which name is used instead. */
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

/* Call it under the lock when no run lives. */
static void remove_own(struct session *session)
{
    if (session->catalogue.header == NULL) {
        remove_empty(session->home);
    } else if (stk_catalogue_is_current(&session->catalogue)) {
        removal_empty_memory(&session->catalogue, session->home);
    }
}

/* Ends reservations for samples when no run lives. A disk's ledger outlives the catalogue. A run
 * that begins beside another one counts nothing anew, so it would lack that room. */
static void end_grants(struct session *session)
{
    struct stk_tier tier;
    for (unsigned i = 0; session->catalogue.header != NULL && i < STK_TIERS; i++) {
        if (stk_tier_by_index(&session->catalogue, i, &tier)) {
            stk_sample_quota_forget(&tier);
            stk_tier_announce(tier.shared, true);
        }
    }
}

bool session_is_kept(const struct session *session)
{
    return atomic_load(&session->catalogue.header->kept) != 0;
}

void session_end(struct session *session)
{
    int lock = lock_take(session->home, 0);
    for (unsigned i = 0; i < session->tier_count; i++) {
        stk_tier_announce(session->tiers[i].shared, true);
    }
    if (session->run_lock >= 0) {
        removal_unlink_run(session->run.path);
        close(session->run_lock);
    }
    if (lock >= 0 && live_count(session->home).runs == 0) {
        end_grants(session);
        remove_own(session);
    }
    lock_release(lock);
}

void session_undo(struct session *session)
{
    session_end(session);
    for (unsigned i = 0; i < session->made_count; i++) {
        if (removal_is_allowed(session->made_tiers[i])) {
            stk_walk_remove(session->made_tiers[i]);
        }
    }
    memset(session->tiers, 0, sizeof session->tiers);
    session->tier_count = 0;
}
