/* `stoker share`: makes a directory that a group's users may share as a tier. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/local.h"
#include "cache/entry/members.h"
#include "cli/args/share_group.h"
#include "cli/out/say.h"
#include "cli/verbs/verbs.h"

static bool is_empty(const char *directory)
{
    DIR *names = opendir(directory);
    unsigned count = 0;
    while (names != NULL && readdir(names) != NULL) {
        count++;
    }
    if (names != NULL) {
        closedir(names);
    }
    return count == 2;
}

/* Makes a directory, or takes an existing one. Before it is the group's, only its owner may
 * enter. */
static void make_directory(const char *directory, struct stat *out)
{
    struct statfs fs;
    bool made = mkdir(directory, 0700) == 0;
    if (!made && errno != EEXIST) {
        die("share %s: %s: name a new directory", directory, strerror(errno));
    }
    if (lstat(directory, out) != 0 || !S_ISDIR(out->st_mode)) {
        die("share %s: not a directory: name a new one", directory);
    }
    if (out->st_uid != geteuid()) {
        die("share %s: it belongs to another user: name a new directory", directory);
    }
    if (statfs(directory, &fs) != 0 || !stk_local_is(&fs)) {
        if (made) {
            rmdir(directory);
        }
        die("share %s: on a file system that may not be local: name a directory of this machine",
            directory);
    }
}

/* Removes access control lists that it inherited from the directory above. Returns true if none is
 * left. */
static bool has_lost(const char *directory, const char *list)
{
    return removexattr(directory, list) == 0 || errno == ENODATA || errno == EOPNOTSUPP;
}

static void give(const char *directory, gid_t gid, const char *name)
{
    if (chmod(directory, 0700) != 0 || !has_lost(directory, "system.posix_acl_access") ||
        !has_lost(directory, "system.posix_acl_default") ||
        lchown(directory, (uid_t)-1, gid) != 0 || chmod(directory, STK_MEMBERS_MODE) != 0) {
        die("share %s with %s: %s", directory, name, strerror(errno));
    }
}

int verb_share(char **arguments)
{
    struct stat stat_;
    struct group *group;
    if (arguments[0] == NULL || arguments[1] == NULL || arguments[2] != NULL ||
        arguments[0][0] == '-') {
        die("share takes a directory and a group: `stoker share /nvme/lab lab`");
    }
    const char *directory = arguments[0], *name = arguments[1];
    gid_t gid = group_find(name, &group);
    if (geteuid() != 0 && !group_is_ours(gid)) {
        die("share %s with %s: you are not in that group, as this session knows", directory, name);
    }
    make_directory(directory, &stat_);
    bool is_so = stat_.st_gid == gid && (stat_.st_mode & 07777) == STK_MEMBERS_MODE;
    if (!is_so && !is_empty(directory)) {
        die("share %s: something is in it: name a new directory", directory);
    }
    if (!is_so) {
        give(directory, gid, name);
    }
    char *canonical = realpath(directory, NULL);
    say_line(stdout, "%s is shared by group %s: stoker run --share %s --tier %s ...",
             canonical != NULL ? canonical : directory, name, name,
             canonical != NULL ? canonical : directory);
    free(canonical);
    return 0;
}
