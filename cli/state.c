/* Where things are remembered. See cli/state.h. */
#include "cli/state.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/say.h"

char *state_path(const char *name)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    struct stat stat_;
    if (state != NULL && state[0] == '/') {
        return must_format("%s/stoker/%s", state, name);
    }
    bool none = home == NULL || home[0] != '/' || strcmp(home, "/nonexistent") == 0; /* Debian's */
    bool usable = !none && stat(home, &stat_) == 0;
    return usable ? must_format("%s/.local/state/stoker/%s", home, name) : NULL;
}

/* Not in a directory of another user's, as that of whoever has become root by sudo. */
static bool may_add_to(const char *directory)
{
    struct stat stat_;
    return stat(*directory != '\0' ? directory : "/", &stat_) == 0 &&
           (stat_.st_uid == geteuid() || stat_.st_uid == 0);
}

void state_make_parents(const char *path)
{
    char *copy = must_copy(path), *before = copy;
    for (char *slash = strchr(copy + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *before = '\0';
        bool may = may_add_to(copy);
        *before = '/';
        *slash = '\0';
        if (may) {
            mkdir(copy, 0700);
        }
        *slash = '/';
        before = slash;
    }
    free(copy);
}
