#include "cli/os/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sys.h"
#include "base/trusted_path.h"
#include "cli/os/descriptors.h"
#include "cli/out/say.h"

/* ---- the directory ---- */

/* Returns the path of a subdirectory, or NULL if there is no place for it. The caller frees. */
static char *find_path(const char *subdirectory)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    struct stat stat_;
    if (state != NULL && state[0] == '/') {
        return must_format("%s/stoker/%s", state, subdirectory);
    }
    bool none = home == NULL || home[0] != '/' ||
                strcmp(home, "/nonexistent") == 0; /* Debian's daemons have it */
    bool usable = !none && stat(home, &stat_) == 0;
    return usable ? must_format("%s/.local/state/stoker/%s", home, subdirectory) : NULL;
}

int state_open(const char *subdirectory, bool make)
{
    OWNED char *path = find_path(subdirectory);
    return path != NULL ? stk_trusted_path_open(path, make) : -ENOENT;
}

const char *state_reason(int error)
{
    return error == -EPERM ? "a directory on the way to ~/.local/state/stoker belongs to another "
                             "user, or others may change it (XDG_STATE_HOME names another place)"
                           : strerror(-error);
}

/* ---- files ---- */

int state_open_file(int directory, const char *name)
{
    struct stat stat_;
    int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    if (fstat(fd, &stat_) == 0 && S_ISREG(stat_.st_mode) && stat_.st_uid == geteuid()) {
        return fd;
    }
    close(fd);
    return -EPERM;
}

/* Makes a new file, and removes one of that name that a killed process left. */
static int write_new(int directory, const char *name, const char *text, size_t bytes)
{
    unlinkat(directory, name, 0);
    int fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int error = fd >= 0 ? stk_sys_pwrite_all(fd, text, bytes, 0) : -errno;
    if (fd >= 0 && close(fd) != 0 && error == 0) {
        error = -errno;
    }
    return error;
}

int state_put(int directory, const char *name, const char *text, size_t bytes)
{
    OWNED char *temporary = must_format(".%s.%d", name, getpid());
    int error = write_new(directory, temporary, text, bytes);
    if (error == 0 && renameat(directory, temporary, directory, name) != 0) {
        error = -errno;
    }
    if (error != 0) {
        unlinkat(directory, temporary, 0);
    }
    return error;
}

void state_read(const char *name, char *text, size_t room)
{
    STK_OWNED_FD int directory = state_open("", false);
    int fd = directory >= 0 ? state_open_file(directory, name) : -1;
    OWNED_FILE FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    size_t bytes = file != NULL ? fread(text, 1, room - 1, file) : 0;
    text[bytes] = '\0';
}

int state_write(const char *name, const char *text)
{
    STK_OWNED_FD int directory = state_open("", true);
    return directory >= 0 ? state_put(directory, name, text, strlen(text)) : directory;
}

/* ---- a home that may not answer ---- */

static bool is_late;

bool state_ask(detached_work *work, void *context, void *answer, size_t bytes)
{
    if (is_late) {
        return false;
    }
    enum detached_state state = detached_ask(work, context, answer, bytes, STATE_PATIENCE_MS);
    if (state == DETACHED_LATE) {
        is_late = true;
        say("the home directory does not answer: caches that were named by --tier are not "
            "remembered there, nor found by it");
    }
    return state == DETACHED_ANSWERED;
}

void state_give_up(void)
{
    is_late = true;
}
