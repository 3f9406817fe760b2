/* Where things are remembered. See cli/state.h. */
#include "cli/state.h"

#include <stdio.h>
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

void state_read(const char *name, char *text, size_t room)
{
    char *path = state_path(name);
    FILE *file = path != NULL ? fopen(path, "re") : NULL;
    size_t bytes = file != NULL ? fread(text, 1, room - 1, file) : 0;
    text[bytes] = '\0';
    if (file != NULL) {
        fclose(file);
    }
    free(path);
}

static bool write_to(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    bool put = file != NULL && fputs(text, file) >= 0;
    return file != NULL && fclose(file) == 0 && put;
}

bool state_write(const char *name, const char *text)
{
    char *path = state_path(name);
    if (path == NULL) {
        return false;
    }
    char *aside = must_format("%s.%d", path, getpid());
    state_make_parents(path);
    bool done = write_to(aside, text) && rename(aside, path) == 0;
    if (!done) {
        unlink(aside);
    }
    free(aside);
    free(path);
    return done;
}

static bool is_late;

bool state_ask(apart_work *work, void *context, void *answer, size_t bytes)
{
    if (is_late) {
        return false;
    }
    enum apart_state state = apart_ask(work, context, answer, bytes, STATE_PATIENCE_MS);
    if (state == APART_LATE) {
        is_late = true;
        say("the home directory does not answer: caches that were named by --tier are not "
            "remembered there, nor found by it");
    }
    return state == APART_TOLD;
}

void state_give_up(void)
{
    is_late = true;
}
