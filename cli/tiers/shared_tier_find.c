#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/local.h"
#include "cli/os/detached.h"
#include "cli/out/say.h"
#include "cli/tiers/shared_tier.h"
#include "cli/tiers/shared_tier_members.h"

#define PATIENCE_MS 5000

struct find_question {
    char *directory;
    gid_t gid;
};

struct find_answer {
    enum shared_tier_kind kind;
    int error;
    char canonical[STK_HOME_BYTES];
};

/* Returns true for an error of a server that is down. Other errors are the directory's. */
static bool is_of_server(int error)
{
    return error == ENOTCONN || error == ESTALE || error == EIO || error == EHOSTDOWN ||
           error == EHOSTUNREACH || error == ETIMEDOUT || error == ECONNREFUSED ||
           error == ECONNABORTED || error == ESHUTDOWN;
}

/* Looks at the directory. Errors of the directory are reported by later checks. */
static void look_at(void *context, int out)
{
    const struct find_question *question = context;
    struct find_answer found = {.kind = SHARED_TIER_LOCAL};
    struct statfs fs;
    struct stat stat_;
    OWNED char *canonical = realpath(question->directory, NULL);
    if (canonical != NULL && strlen(canonical) < sizeof found.canonical &&
        statfs(canonical, &fs) == 0 && lstat(canonical, &stat_) == 0) {
        found.kind = shared_tier_is_of_group(&stat_, question->gid) ? SHARED_TIER_OF_GROUP
                     : !stk_local_is(&fs)                           ? SHARED_TIER_YES
                                                                    : SHARED_TIER_LOCAL;
        strcpy(found.canonical, canonical);
    } else if (is_of_server(errno)) {
        found.kind = SHARED_TIER_LATE;
        found.error = -errno;
    }
    detached_answer(out, &found, sizeof found);
}

enum shared_tier_kind shared_tier_find(const char *directory, gid_t gid,
                                       char canonical[STK_HOME_BYTES], int *error)
{
    struct find_answer found;
    struct find_question question = {must_copy(directory), gid};
    enum detached_state state = detached_ask(look_at, &question, &found, sizeof found, PATIENCE_MS);
    free(question.directory);
    *error = state == DETACHED_ANSWERED ? found.error : -ETIMEDOUT;
    if (state != DETACHED_ANSWERED) {
        return state == DETACHED_NONE ? SHARED_TIER_LOCAL : SHARED_TIER_LATE;
    }
    memcpy(canonical, found.canonical, STK_HOME_BYTES);
    return found.kind;
}
