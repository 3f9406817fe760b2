#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/local.h"
#include "cli/os/detached.h"
#include "cli/out/say.h"
#include "cli/tiers/shared_tier.h"

#define PATIENCE_MS 5000

struct find_answer {
    bool shared;
    char canonical[STK_HOME_BYTES];
};

/* Looks at the directory. Errors of the directory are reported by later checks. */
static void look_at(void *directory, int out)
{
    struct find_answer found = {.shared = false};
    struct statfs fs;
    char *canonical = realpath(directory, NULL);
    if (canonical != NULL && strlen(canonical) < sizeof found.canonical &&
        statfs(canonical, &fs) == 0 && !stk_local_is(&fs)) {
        found.shared = true;
        strcpy(found.canonical, canonical);
    }
    free(canonical);
    detached_answer(out, &found, sizeof found);
}

enum shared_tier_kind shared_tier_find(const char *directory, char canonical[STK_HOME_BYTES])
{
    struct find_answer found;
    char *copy = must_copy(directory);
    enum detached_state state = detached_ask(look_at, copy, &found, sizeof found, PATIENCE_MS);
    free(copy);
    if (state == DETACHED_NONE) {
        return SHARED_TIER_LOCAL;
    }
    if (state == DETACHED_ANSWERED && found.shared) {
        memcpy(canonical, found.canonical, STK_HOME_BYTES);
    }
    return state != DETACHED_ANSWERED ? SHARED_TIER_LATE
           : found.shared             ? SHARED_TIER_YES
                                      : SHARED_TIER_LOCAL;
}
