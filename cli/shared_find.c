/* What a directory is that may be a shared tier, found out by a process that nobody waits for. See
 * cli/shared.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/local.h"
#include "cli/apart.h"
#include "cli/say.h"
#include "cli/shared.h"

#define PATIENCE_MS 5000

struct found {
    bool shared;
    char canonical[STK_HOME_BYTES];
};

/* What is wrong with a directory is said by those who look at it next. */
static void look_at(void *directory, int out)
{
    struct found found = {.shared = false};
    struct statfs fs;
    char *canonical = realpath(directory, NULL);
    if (canonical != NULL && strlen(canonical) < sizeof found.canonical &&
        statfs(canonical, &fs) == 0 && !stk_local_is(&fs)) {
        found.shared = true;
        strcpy(found.canonical, canonical);
    }
    free(canonical);
    apart_tell(out, &found, sizeof found);
}

enum shared_kind shared_find(const char *directory, char canonical[STK_HOME_BYTES])
{
    struct found found;
    char *copy = must_copy(directory);
    enum apart_state state = apart_ask(look_at, copy, &found, sizeof found, PATIENCE_MS);
    free(copy);
    if (state == APART_NONE) {
        return SHARED_LOCAL;
    }
    if (state == APART_TOLD && found.shared) {
        memcpy(canonical, found.canonical, STK_HOME_BYTES);
    }
    return state != APART_TOLD ? SHARED_LATE : found.shared ? SHARED_YES : SHARED_LOCAL;
}
