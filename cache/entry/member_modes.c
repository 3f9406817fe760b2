/* Opens entries of this user to the members of a group. See cache/entry/members.h. */
#include "cache/entry/members.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/local.h"
#include "base/sys.h"
#include "base/text.h"
#include "cache/origin/entry_name.h"

#define OPEN_DIRECTORY   02710 /* members know the paths that they open */
#define CLOSED_DIRECTORY 02700
#define PASSED           S_IXOTH
#define LISTED           (S_IROTH | S_IXOTH)

/* ---- one's own home ---- */

/* The lists of rights that a directory hands down to what is made in it let others in as well. */
static bool drop_list(int fd, const char *name)
{
    int error = stk_sys_remove_attribute(fd, name);
    return error == 0 || error == -ENODATA || error == -EOPNOTSUPP;
}

static bool drop_lists(int fd, mode_t type)
{
    return drop_list(fd, "system.posix_acl_access") &&
           (type != S_IFDIR || drop_list(fd, "system.posix_acl_default"));
}

/* Gives a file of this user and the group this mode and no other rights, whatever the umask was.
 * The directory's owner can replace files in it, so this changes the object that was checked, and
 * not its name. */
static bool set_mode(const struct stk_members *group, const char *path, mode_t type, mode_t mode)
{
    struct stat stat;
    int fd = stk_sys_open_nolinks(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    bool ours = stk_sys_fstat(fd, &stat) == 0 && (stat.st_mode & S_IFMT) == type &&
                stat.st_gid == group->gid && stat.st_uid == stk_sys_geteuid();
    bool done = ours && ((stat.st_mode & 07777) == mode ||
                         (drop_lists(fd, type) && stk_sys_fchmod(fd, mode) == 0));
    stk_sys_close(fd);
    return done;
}

static bool set_directory(const struct stk_members *group, const char *path, mode_t mode)
{
    return set_mode(group, path, S_IFDIR, mode);
}

bool stk_members_prepare(const struct stk_members *group, const char *dir)
{
    char home[STK_HOME_BYTES];
    struct stat stat;
    struct statfs fs;
    if (!stk_members_has(group, dir) ||
        stk_sys_fstatat(AT_FDCWD, dir, &stat, AT_SYMLINK_NOFOLLOW) != 0 ||
        stk_sys_statfs(dir, &fs) != 0 || !stk_local_is(&fs)) {
        return false;
    }
    stk_home_trust(&stat);
    if (stk_home_check_parent(dir, NULL) != 0 || !stk_home_path(home, dir) ||
        stk_home_ensure(home) != 0 || stk_home_ensure_room(home, "tree") != 0) {
        return false;
    }
    struct stk_text tree = {home, strlen(home), sizeof home, false};
    bool open = set_directory(group, home, OPEN_DIRECTORY);
    stk_text_add(&tree, "/tree");
    return open && !tree.cut && set_directory(group, home, OPEN_DIRECTORY);
}

/* ---- the way to the origin ---- */

/* Returns true if every member has these rights, given as the bits for others. For the owner the
 * owner's bits decide, and for a member of the file's group the group's. A member may be the owner,
 * and in any group. */
static bool lets(const struct stk_members *group, const struct stat *stat, mode_t rights)
{
    mode_t all = rights << 6 | rights << 3 | (stat->st_gid == group->gid ? 0 : rights);
    return (stat->st_mode & all) == all;
}

/* Opens a name of an open directory as a path. It does not follow a link, and refuses a mount over
 * the name where the kernel can report one (5.6). */
static int open_name(int dirfd, const char *name, int flags)
{
    flags |= O_PATH | O_NOFOLLOW | O_CLOEXEC;
    int fd = stk_sys_open_beneath(dirfd, name, flags);
    return fd == -ENOSYS || fd == -EPERM ? stk_sys_openat(dirfd, name, flags, 0) : fd;
}

/* Returns `fd` if every member has these rights to it. Otherwise closes it and returns -errno. */
static int check_rights(const struct stk_members *group, int fd, mode_t rights)
{
    struct stat stat;
    if (fd >= 0 && (stk_sys_fstat(fd, &stat) != 0 || !lets(group, &stat, rights))) {
        stk_sys_close(fd);
        fd = -EACCES;
    }
    return fd;
}

/* Opens the directory `name` of `from`, and closes `from`. */
static int enter(const struct stk_members *group, int from, const char *name, bool beneath)
{
    const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = beneath ? open_name(from, name, O_DIRECTORY) : stk_sys_openat(from, name, flags, 0);
    stk_sys_close(from);
    return check_rights(group, fd, beneath ? LISTED : PASSED);
}

/* Opens a root as a path if members may pass every directory above it and list the root. The
 * root's path has no links, and the function enters it name by name. */
static int reach_root(const struct stk_members *group, const struct stk_root *root)
{
    char path[STK_PATH_BYTES];
    if (!stk_text_copy(path, sizeof path, root->canonical)) {
        return -ENAMETOOLONG;
    }
    int fd = stk_sys_openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    fd = check_rights(group, fd, PASSED);
    for (char *name = path + 1, *end; fd >= 0 && *name != '\0'; name = end) {
        end = name + strcspn(name, "/");
        bool more = *end == '/';
        *end = '\0';
        fd = enter(group, fd, name, false);
        end += more;
    }
    return check_rights(group, fd, LISTED);
}

/* Returns true if this name of an open directory is the file that was copied, of the same version,
 * and every member may read it. */
static bool is_copied(const struct stk_members *group, int dirfd, const char *name,
                      const struct stk_identity *copied)
{
    struct statx answer;
    struct stat stat;
    struct stk_identity found;
    int fd = open_name(dirfd, name, 0);
    bool same = fd >= 0 && stk_sys_statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &answer) == 0 &&
                S_ISREG(answer.stx_mode) && stk_identity_from_statx(&found, &answer) &&
                stk_identity_same_version(&found, copied);
    if (fd >= 0) {
        stk_sys_close(fd);
    }
    if (same) {
        stk_identity_to_stat(&found, &stat);
    }
    return same && lets(group, &stat, S_IROTH);
}

/* ---- entries ---- */

/* Walks from a root, whose directory in the tier ends at `slash`, down to the directory of an
 * entry. Opens or closes each directory in the tier as its origin is. `fd` is the root's
 * descriptor, which is closed, or -errno. Returns the last directory's descriptor, or -errno. */
static int walk_down(const struct stk_members *group, int fd, char *entry, char *slash)
{
    for (char *next = strchr(slash + 1, '/');; slash = next, next = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool set = set_directory(group, entry, fd >= 0 ? OPEN_DIRECTORY : CLOSED_DIRECTORY);
        *slash = '/';
        if (fd >= 0 && !set) {
            stk_sys_close(fd);
            fd = -EACCES;
        }
        if (fd < 0 || next == NULL) {
            return fd;
        }
        *next = '\0';
        fd = enter(group, fd, slash + 1, true);
        *next = '/';
    }
}

void stk_members_give(const struct stk_members *group, const struct stk_tier *tier,
                      const struct stk_root *root, char *entry, const struct stk_identity *copied)
{
    const char *leaf = stk_path_leaf(entry);
    char *slash = strchr(entry + strlen(tier->home) + sizeof STK_ENTRY_TREE - 1, '/');
    if (!stk_members_shares(group, tier) || root->single_user || slash == NULL) {
        return;
    }
    int fd = walk_down(group, reach_root(group, root), entry, slash);
    if (fd >= 0 && is_copied(group, fd, leaf + STK_ENTRY_DIGITS + 1, copied)) {
        set_mode(group, entry, S_IFREG, STK_MEMBERS_ENTRY_MODE);
    }
    if (fd >= 0) {
        stk_sys_close(fd);
    }
}
