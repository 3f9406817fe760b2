/* What of one's own cache is open to a group. See cache/group.h. */
#include "cache/group.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/local.h"
#include "base/sys.h"
#include "base/text.h"
#include "cache/entry.h"

#define OPEN_DIRECTORY   02750
#define CLOSED_DIRECTORY 02700
#define PASSED           1024 /* directories are remembered */
#define PASSED_S         2    /* for so long */
#define TIME_MASK        UINT64_C(0xffffff)

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

/* Gives what is ours, and the group's, this mode and no other rights, whatever the umask was.
 * Whoever owns the directory of the homes may change what lies there: what was looked at is what is
 * changed. */
static bool set_mode(const struct stk_group *group, const char *path, mode_t type, mode_t mode)
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

static bool set_directory(const struct stk_group *group, const char *path, mode_t mode)
{
    return set_mode(group, path, S_IFDIR, mode);
}

bool stk_group_prepare(const struct stk_group *group, const char *dir)
{
    char home[STK_HOME_BYTES];
    struct stat stat;
    struct statfs fs;
    if (!stk_group_has(group, dir) ||
        stk_sys_fstatat(AT_FDCWD, dir, &stat, AT_SYMLINK_NOFOLLOW) != 0 ||
        stk_sys_statfs(dir, &fs) != 0 || !stk_local_is(&fs)) {
        return false;
    }
    stk_home_trust(&stat);
    if (stk_home_check_parent(dir) != 0 || !stk_home_path(home, dir) ||
        stk_home_ensure(home) != 0 || stk_home_ensure_room(home, "tree") != 0) {
        return false;
    }
    struct stk_text tree = {home, strlen(home), sizeof home, false};
    bool open = set_directory(group, home, OPEN_DIRECTORY);
    stk_text_add(&tree, "/tree");
    return open && !tree.cut && set_directory(group, home, OPEN_DIRECTORY);
}

/* ---- what the modes of the origin say ---- */

/* Who is in the group of a file is held by its bits, also where all others have more; and any
 * member may be in whatever group it is. */
static bool lets(const struct stk_group *group, uint32_t mode, uint32_t gid, uint32_t others_bit)
{
    return (mode & others_bit << 3) != 0 && (gid == group->gid || (mode & others_bit) != 0);
}

bool stk_group_may_read(const struct stk_group *group, uint32_t mode, uint32_t gid)
{
    return group->on && lets(group, mode, gid, S_IROTH);
}

static bool lets_pass(const struct stk_group *group, const char *origin)
{
    struct stat stat;
    return stk_sys_fstatat(AT_FDCWD, origin, &stat, 0) == 0 &&
           lets(group, stat.st_mode, stat.st_gid, S_IXOTH);
}

/* A root, and all that is above it. `origin` is changed, and as it was afterwards. */
static bool lets_pass_to(const struct stk_group *group, char *origin)
{
    bool passes = lets_pass(group, "/");
    for (char *slash = strchr(origin + 1, '/'); passes && slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        passes = lets_pass(group, origin);
        *slash = '/';
    }
    return passes && lets_pass(group, origin);
}

/* ---- directories ---- */

/* Directories of trees whose origins the group could pass a moment ago: a hash, and when. Each look
 * may be a question to a server, and a directory has many files. */
static _Atomic uint64_t passed[PASSED];

static uint64_t now_s(void)
{
    return (uint64_t)(stk_clock_boottime_ns() / STK_NS_PER_S) & TIME_MASK;
}

static bool was_passed(uint64_t hash)
{
    uint64_t word = atomic_load(&passed[hash % PASSED]);
    return ((word ^ hash) & ~TIME_MASK) == 0 && ((now_s() - word) & TIME_MASK) <= PASSED_S;
}

static void note_passed(uint64_t hash)
{
    atomic_store(&passed[hash % PASSED], (hash & ~TIME_MASK) | now_s());
}

/* The note of a root, by which people see whose tree it is. */
static void open_note(const struct stk_group *group, const char *directory)
{
    char path[STK_PATH_BYTES];
    struct stk_text text = stk_text_in(path, sizeof path);
    stk_text_add(&text, directory);
    stk_text_add(&text, "/" STK_ENTRY_NOTE);
    if (!text.cut) {
        set_mode(group, path, S_IFREG, STK_GROUP_ENTRY_MODE);
    }
}

/* One directory of a tree is opened or closed as that of the origin is for which it stands: whether
 * it is open then. `first`: the root itself. */
static bool follow_one(const struct stk_group *group, const char *directory, char *origin,
                       bool first)
{
    uint64_t hash = stk_hash_64(directory, strlen(directory), 0);
    bool known = was_passed(hash);
    bool passes = known || (first ? lets_pass_to(group, origin) : lets_pass(group, origin));
    if (!set_directory(group, directory, passes ? OPEN_DIRECTORY : CLOSED_DIRECTORY)) {
        return false;
    }
    if (passes && !known) {
        note_passed(hash);
    }
    if (passes && !known && first) {
        open_note(group, directory);
    }
    return passes;
}

/* From the root's directory, which ends at `begin`, down to the one that ends at `last`. */
static bool follow_way(const struct stk_group *group, const struct stk_root *root, char *entry,
                       char *begin, const char *last)
{
    char origin[STK_PATH_BYTES];
    bool open = true;
    for (char *slash = begin; open && slash <= last; slash = strchr(slash + 1, '/')) {
        struct stk_text text = stk_text_in(origin, sizeof origin);
        *slash = '\0';
        stk_text_add(&text, root->canonical);
        stk_text_add(&text, begin); /* what is below the root, or nothing */
        open = !text.cut && follow_one(group, entry, origin, slash == begin);
        *slash = '/';
        if (slash == last) {
            break;
        }
    }
    return open;
}

/* ---- entries ---- */

/* Whether the origin of an entry lies where its path says: at what is behind a link nobody has
 * looked. `begin`: of what is below the root in the entry's path. */
static bool is_no_link(const struct stk_root *root, const char *begin)
{
    char below[STK_PATH_BYTES];
    const char *leaf = stk_path_leaf(begin);
    struct stk_text text = stk_text_in(below, sizeof below);
    stk_text_add_bytes(&text, begin, (size_t)(leaf - begin));
    stk_text_add(&text, leaf + STK_ENTRY_DIGITS + 1);
    int dir = stk_sys_openat(AT_FDCWD, root->canonical, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    int fd = dir < 0 || text.cut ? -ENOENT : stk_sys_open_beneath(dir, below, O_PATH | O_CLOEXEC);
    if (dir >= 0) {
        stk_sys_close(dir);
    }
    if (fd >= 0) {
        stk_sys_close(fd);
    }
    return fd >= 0;
}

void stk_group_give(const struct stk_group *group, const struct stk_tier *tier,
                    const struct stk_root *root, char *entry)
{
    char *last = strrchr(entry, '/');
    char *tree = entry + strlen(tier->home) + sizeof "/tree/" - 1;
    if (stk_group_shares(group, tier) && !root->personal && last != NULL && tree < last &&
        follow_way(group, root, entry, strchr(tree, '/'), last) &&
        is_no_link(root, strchr(tree, '/') + 1)) {
        set_mode(group, entry, S_IFREG, STK_GROUP_ENTRY_MODE);
    }
}
