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
    struct apart apart;
    char *copy = must_copy(directory);
    bool begun = apart_begin(&apart, look_at, copy);
    free(copy);
    if (!begun) {
        return SHARED_LOCAL;
    }
    enum apart_state state = apart_wait(&apart, &found, sizeof found, PATIENCE_MS);
    if (state == APART_LATE) {
        apart_leave(&apart);
    }
    if (state == APART_TOLD && found.shared) {
        memcpy(canonical, found.canonical, STK_HOME_BYTES);
    }
    return state != APART_TOLD ? SHARED_LATE : found.shared ? SHARED_YES : SHARED_LOCAL;
}
