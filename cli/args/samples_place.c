#include "cli/args/samples_place.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/local.h"
#include "base/options.h"
#include "base/trusted_path.h"
#include "cli/args/covered_paths.h"
#include "cli/args/refusal.h"
#include "cli/os/detached.h"
#include "cli/out/say.h"

#define PATIENCE_MS 5000

struct place_findings {
    int error; /* of the directory, or of the one above it, if the directory is to be created */
    bool own;  /* this user owns it, or it does not exist yet */
    bool is_out_of_reach; /* no other user can replace it */
    bool is_local;        /* on a local file system */
};

/* Returns the directory above. The caller frees. */
static char *above(const char *directory)
{
    const char *slash = strrchr(directory, '/');
    return slash == NULL        ? must_copy(".")
           : slash == directory ? must_copy("/")
                                : must_format("%.*s", (int)(slash - directory), directory);
}

static bool is_own(const struct stat *stat)
{
    return S_ISDIR(stat->st_mode) && stat->st_uid == geteuid() && (stat->st_mode & 022) == 0;
}

/* Returns true if no other user can replace this directory, which may be missing. */
static bool is_out_of_reach(const char *directory, const char *existing)
{
    char where[STK_PATH_BYTES], *canonical = realpath(existing, NULL);
    char *path = strcmp(directory, existing) == 0 || canonical == NULL
                     ? canonical
                     : must_format("%s/samples", canonical);
    bool is =
        path == NULL || stk_trusted_path_check_above(path, geteuid(), where, sizeof where) == 0;
    if (path != canonical) {
        free(path);
    }
    free(canonical);
    return is;
}

static void look_at(void *directory, int out)
{
    struct stat stat;
    struct statfs fs;
    bool there = lstat(directory, &stat) == 0;
    OWNED char *existing = there || errno != ENOENT ? must_copy(directory) : above(directory);
    struct place_findings found = {.own = !there || is_own(&stat)};
    found.is_out_of_reach = is_out_of_reach(directory, existing);
    bool asked = statfs(existing, &fs) == 0;
    found.error = asked && access(existing, W_OK | X_OK) == 0 ? 0 : errno;
    found.is_local = asked && stk_local_is(&fs);
    detached_answer(out, &found, sizeof found);
}

/* Ends if the directory is wrong on every node. */
static void judge(const char *directory, const struct place_findings *found)
{
    if (found->error != 0 && refusal_class_of(-found->error) == REFUSAL_TYPED) {
        die("--decoded %s: %s: name a directory of your own; only its last part may be missing",
            directory, strerror(found->error));
    }
    if (!found->own) {
        die("--decoded %s: not a directory that is yours and that only you can write: name one, "
            "which may be missing",
            directory);
    }
    if (!found->is_out_of_reach) {
        die("--decoded %s: a directory above it is another user's, or writable by others, who "
            "could "
            "put another in its place: `chmod +t` that (or go-w), or name a directory elsewhere",
            directory);
    }
}

/* Returns in words what this node lacks, or NULL. */
static const char *lack_of(enum detached_state state, const struct place_findings *found)
{
    if (state != DETACHED_ANSWERED) {
        return state == DETACHED_LATE ? "it does not answer"
                                      : NULL; /* else the process could not be started */
    }
    return found->error == EACCES  ? "permission denied"
           : found->error == EROFS ? "read-only file system"
           : found->error != 0     ? strerror(found->error)
           : !found->is_local      ? "not on a local file system (tmpfs, ext4, xfs, btrfs, overlay)"
                                   : NULL;
}

bool samples_place_check(const struct request *request, const char *value)
{
    struct place_findings found;
    int64_t bytes;
    size_t length;
    stk_option_split_place(value, &length, &bytes);
    OWNED char *directory = must_format("%.*s", (int)length, value);
    paths_cut_slashes(directory);
    enum detached_state state = detached_ask(look_at, directory, &found, sizeof found, PATIENCE_MS);
    if (state == DETACHED_ANSWERED) {
        judge(directory, &found);
    }
    const char *lack = lack_of(state, &found);
    if (lack != NULL) {
        refusal_report(request, REFUSAL_PART,
                       "--decoded %s: %s: %sname a directory on a local disk that you may write to",
                       directory, lack, refusal_goes_on(request, REFUSAL_PART));
    }
    return lack == NULL;
}
