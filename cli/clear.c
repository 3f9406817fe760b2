/* `stoker clear [PATH] [--dead]`: removes what is cached: all of it, that of a path, or leftovers.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "cli/say.h"
#include "cli/session.h"
#include "cli/tree.h"
#include "cli/verbs.h"

struct removal {
    const char *path;
    uint64_t files;
};

static void remove_from_root(const char *tier_home, const char *root, void *context)
{
    struct removal *removal = context;
    removal->files += tree_remove(tier_home, root, removal->path);
}

/* Entries may go at any time: whoever holds one open keeps reading, and the next open fills anew.
 */
static int clear_path(const char *path)
{
    static struct session session;
    struct stk_tier tier;
    char *canonical = realpath(path, NULL);
    struct removal removal = {.path = canonical != NULL ? canonical : path, .files = 0};
    if (removal.path[0] != '/') {
        die("clear %s: no such file or directory: name a data set's path", path);
    }
    bool any = session_look(&session);
    for (unsigned i = 0; any && i < STK_TIERS; i++) {
        if (stk_tier_by_index(&session.catalogue, i, &tier)) {
            tree_each_root(tier.home, remove_from_root, &removal);
            if (session_count_live(session.home) == 0) {
                stk_tier_recount(&tier);
            }
        }
    }
    printf("removed %" PRIu64 " cached files of %s\n", removal.files, removal.path);
    free(canonical);
    return 0;
}

static int clear_dead(void)
{
    printf(session_sweep() ? "removed what dead runs left\n" : "no dead runs\n");
    return 0;
}

static int clear_all(void)
{
    unsigned live = session_remove_all();
    if (live > 0) {
        die("%u runs are using the cache: wait for them, or name a PATH to clear", live);
    }
    printf("removed\n");
    return 0;
}

int verb_clear(char **arguments)
{
    if (arguments[0] == NULL) {
        return clear_all();
    }
    if (arguments[1] != NULL) {
        die("clear takes one PATH or --dead; unexpected: %s", arguments[1]);
    }
    if (strcmp(arguments[0], "--dead") == 0) {
        return clear_dead();
    }
    if (arguments[0][0] == '-') {
        die("unknown option %s: see `stoker --help`", arguments[0]);
    }
    return clear_path(arguments[0]);
}
