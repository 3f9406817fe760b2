#include "cli/run/shared_sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/path.h"
#include "base/sys.h"
#include "cache/cache.h"
#include "cache/origin/entry_name.h"
#include "cache/run/shared_request.h"
#include "cli/tiers/entries.h"
#include "cli/tiers/shared_tier_names.h"

#define FIRST_NS   STK_NS_PER_S /* short commands end before they cost the server anything */
#define REST_NS    STK_NS_PER_S
#define STEP_NS    (STK_NS_PER_S / 50)
#define LONGEST_NS (600 * STK_NS_PER_S)

static struct stk_shared_requests *requests_of(const struct shared_sweep *sweep)
{
    return stk_run_shared_requests(&sweep->cache->run);
}

static uint64_t count_of(const struct shared_sweep *sweep, enum stk_shared_requests_count what)
{
    return atomic_load(&requests_of(sweep)->counts[what]);
}

static bool is_open(const struct shared_sweep *sweep)
{
    return stk_shared_requests_are_open(requests_of(sweep));
}

static bool is_over(const struct shared_sweep *sweep)
{
    return !stk_shared_requests_go_on(requests_of(sweep));
}

/* Returns true if entries of this run, or those that `stoker warm` has met, may lack there. */
static bool is_owed(const struct shared_sweep *sweep)
{
    return count_of(sweep, STK_SHARED_REQUESTS_DROPPED) > 0 ||
           (atomic_load(&requests_of(sweep)->patient) != 0 &&
            count_of(sweep, STK_SHARED_REQUESTS_SWEPT) == 0);
}

/* A tier that has refused a file for want of room is left alone. At the end only what is owed is
 * looked for. */
static bool goes_on(const struct shared_sweep *sweep, bool owed)
{
    uint32_t state = atomic_load(&requests_of(sweep)->state);
    return count_of(sweep, STK_SHARED_REQUESTS_FULL) == 0 &&
           (state == STK_SHARED_REQUESTS_OPEN || (state == STK_SHARED_REQUESTS_OVER && owed));
}

/* ---- one sweep ---- */

/* One sweep of one tier. */
struct sweep_walk {
    const struct shared_sweep *sweep;
    size_t tree_length;
    char path[STK_PATH_BYTES]; /* of the thing at hand, in the local tier */
    bool owed;
    int error; /* the first one; the sweep goes on with the next directory */
};

static void walk_directory(struct sweep_walk *walk, size_t length);

/* Looks at a name that is not there. */
static void look_at(struct sweep_walk *walk, int directory, const char *name, size_t length)
{
    struct stat stat;
    if (stk_sys_fstatat(directory, name, &stat, AT_SYMLINK_NOFOLLOW) != 0) {
        return;
    }
    if (S_ISDIR(stat.st_mode)) {
        walk_directory(walk, length);
    } else if (stk_entry_looks_like_file(name, &stat)) {
        stk_cache_publish_entry(walk->sweep->cache, walk->path, &stat);
    }
}

static void walk_names(struct sweep_walk *walk, DIR *local, size_t length,
                       const struct shared_tier_names *there)
{
    const struct dirent *entry;
    while (goes_on(walk->sweep, walk->owed) && (entry = readdir(local)) != NULL) {
        const char *name = entry->d_name;
        int more = snprintf(walk->path + length, sizeof walk->path - length, "/%s", name);
        bool fits = more > 0 && length + (size_t)more < sizeof walk->path;
        bool is_known = entries_is_name(name) && shared_tier_names_have(there, name);
        if (fits && !stk_path_is_dots(name) && !is_known) {
            look_at(walk, dirfd(local), name, length + (size_t)more);
        }
    }
    walk->path[length] = '\0';
}

/* Compares a directory of the local tier, whose path is this long, with the one there. */
static void walk_directory(struct sweep_walk *walk, size_t length)
{
    struct shared_tier_names there;
    int fd = stk_sys_open_nolinks(walk->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *local = fd >= 0 ? fdopendir(fd) : NULL;
    if (local == NULL) {
        return;
    }
    int error = shared_tier_names_list(walk->sweep->shared, walk->path + walk->tree_length, &there);
    if (error == 0) {
        walk_names(walk, local, length, &there);
        stk_shared_requests_count(requests_of(walk->sweep), STK_SHARED_REQUESTS_SWEPT, 1);
    }
    walk->error = walk->error != 0 ? walk->error : error;
    shared_tier_names_free(&there);
    closedir(local);
}

/* Walks the directory of one covered root in one tier. */
static int walk_root(const struct shared_sweep *sweep, const char *tier_home,
                     const struct stk_root *root, bool owed)
{
    struct sweep_walk walk = {.sweep = sweep, .owed = owed};
    size_t length = stk_entry_tree(walk.path, sizeof walk.path, tier_home, root);
    if (length == 0) {
        return 0;
    }
    walk.path[--length] = '\0';
    walk.tree_length = strlen(tier_home) + sizeof STK_ENTRY_TREE - 1;
    walk_directory(&walk, length);
    return walk.error;
}

static int walk_tier(const struct shared_sweep *sweep, const struct stk_tier *tier, bool owed)
{
    const struct stk_roots *roots = &sweep->cache->roots;
    int error = 0;
    for (unsigned i = 0; i < roots->count && goes_on(sweep, owed); i++) {
        int more =
            roots->roots[i].usable ? walk_root(sweep, tier->home, &roots->roots[i], owed) : 0;
        error = error != 0 ? error : more;
    }
    return error;
}

/* Returns true if everything was compared. Entries that were dropped before are there then, or are
 * on their way. */
static bool sweep_once(const struct shared_sweep *sweep)
{
    struct stk_tier tier;
    bool owed = is_owed(sweep);
    uint64_t dropped = count_of(sweep, STK_SHARED_REQUESTS_DROPPED);
    int error = 0;
    for (unsigned i = 0; i < STK_TIERS && error == 0; i++) {
        error = stk_tier_by_index(&sweep->cache->catalogue, i, &tier)
                    ? walk_tier(sweep, &tier, owed)
                    : 0;
    }
    if (error != 0 || !goes_on(sweep, owed)) {
        return false;
    }
    atomic_fetch_sub(&requests_of(sweep)->counts[STK_SHARED_REQUESTS_DROPPED], dropped);
    return true;
}

/* ---- all sweeps ---- */

static bool is_due(const struct shared_sweep *sweep, bool swept, int64_t rested_ns)
{
    return is_owed(sweep) || (!swept && rested_ns >= FIRST_NS);
}

/* Waits for so long at least, and until a sweep is due and the server serves, or until the requests
 * are closed. */
static void rest(const struct shared_sweep *sweep, bool swept, int64_t least_ns)
{
    int64_t began_ns = stk_clock_boottime_ns(), rested_ns = 0;
    while (!is_over(sweep) &&
           (!is_open(sweep) || rested_ns < least_ns || !is_due(sweep, swept, rested_ns))) {
        uint32_t state = atomic_load(&requests_of(sweep)->state);
        stk_sys_futex_wait(&requests_of(sweep)->state, state, STEP_NS);
        rested_ns = stk_clock_boottime_ns() - began_ns;
    }
}

/* Rests longer after a sweep that failed. */
void shared_sweep_run(const struct shared_sweep *sweep)
{
    bool swept = false;
    int64_t rest_ns = 0;
    while (!is_over(sweep)) {
        rest(sweep, swept, rest_ns);
        swept = is_open(sweep) && sweep_once(sweep);
        rest_ns = swept ? REST_NS : 2 * rest_ns + REST_NS;
        rest_ns = rest_ns < LONGEST_NS ? rest_ns : LONGEST_NS;
    }
}

void shared_sweep_end(const struct shared_sweep *sweep)
{
    if (is_owed(sweep)) {
        sweep_once(sweep);
    }
    stk_shared_requests_end_sweeps(requests_of(sweep));
}
