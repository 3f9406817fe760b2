#include "cli/tiers/entries.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/walk.h"
#include "cache/origin/entry_name.h"
#include "cache/tier/ledger.h"
#include "cli/os/descriptors.h"
#include "cli/os/team_walk.h"

static void root_path(char *out, size_t bytes, const char *tier_home, const char *root)
{
    snprintf(out, bytes, "%s/tree/%s", tier_home, root);
}

/* The search for directories of roots: those with a note. Above them lie only directories. */
struct root_search {
    const char *tier_home;
    void (*visit)(const char *tier_home, const char *root, void *context);
    void *context;
    struct stk_text root; /* the path below the tree, of the directory at hand */
    char root_text[STK_PATH_BYTES];
    char path[STK_HOME_BYTES + STK_PATH_BYTES + 8];
};

bool entries_is_name(const char *name)
{
    return strlen(name) > STK_ENTRY_DIGITS && name[STK_ENTRY_DIGITS] == ';';
}

/* Returns true if the directory is a root's: it has the note, or entries, whose note is lost. */
static bool is_of_root(int directory, DIR *names)
{
    bool found = faccessat(directory, STK_ENTRY_NOTE, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    struct dirent *entry;
    while (!found && (entry = readdir(names)) != NULL) {
        found = entries_is_name(entry->d_name) && entry->d_type != DT_DIR;
    }
    rewinddir(names);
    return found;
}

static void search_in(struct root_search *search);

/* Goes on in a directory of this name, if it is one. */
static void search_below(struct root_search *search, const char *name)
{
    size_t used = search->root.used;
    if (used > 0) {
        stk_text_add_char(&search->root, '/');
    }
    stk_text_add(&search->root, name);
    if (!search->root.cut) {
        search_in(search);
    }
    search->root.used = used;
    search->root.start[used] = '\0';
    search->root.cut = false;
}

static void search_in(struct root_search *search)
{
    root_path(search->path, sizeof search->path, search->tier_home, search->root.start);
    int fd = stk_sys_open_nolinks(search->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    OWNED_DIR DIR *names = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;
    if (names != NULL && search->root.used > 0 && is_of_root(fd, names)) {
        search->visit(search->tier_home, search->root.start, search->context);
        return;
    }
    while (names != NULL && (entry = readdir(names)) != NULL) {
        bool may_be = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
        if (may_be && !stk_path_is_dots(entry->d_name)) {
            search_below(search, entry->d_name);
        }
    }
}

void entries_each_root(const char *tier_home,
                       void (*visit)(const char *tier_home, const char *root, void *context),
                       void *context)
{
    struct root_search search = {.tier_home = tier_home, .visit = visit, .context = context};
    search.root = stk_text_in(search.root_text, sizeof search.root_text);
    search_in(&search);
}

static _Atomic uint64_t passed;

uint64_t entries_passed(void)
{
    return atomic_load(&passed);
}

struct tree_content {
    _Atomic uint64_t files, bytes;
};

static int measure_one(void *context, int dirfd, const char *name, const struct stat *stat)
{
    struct tree_content *content = context;
    (void)dirfd;
    if (stk_entry_looks_like_file(name, stat)) {
        content->files++;
        content->bytes += (uint64_t)stat->st_size;
        passed++;
    }
    return 0;
}

void entries_measure(const char *tier_home, const char *root, struct entries_content *out)
{
    char path[4096];
    struct tree_content content = {0, 0};
    root_path(path, sizeof path, tier_home, root);
    team_walk(path, measure_one, &content);
    *out = (struct entries_content){content.files, content.bytes};
}

/* Reads the note without waiting, even if a pipe lies in its place. */
void entries_origin(const char *tier_home, const char *root, char *out, size_t bytes)
{
    char path[4096];
    struct stat stat_;
    ssize_t got = 0;
    snprintf(path, sizeof path, "%s/tree/%s/" STK_ENTRY_NOTE, tier_home, root);
    STK_OWNED_FD int fd = stk_sys_open_nolinks(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && stk_sys_fstat(fd, &stat_) == 0 && S_ISREG(stat_.st_mode)) {
        got = stk_sys_read(fd, out, bytes - 1);
    }
    out[got > 0 ? got : 0] = '\0';
}

bool entries_path_of(char out[STK_PATH_BYTES], int dirfd, const char *name)
{
    char link[32];
    stk_proc_fd_path(link, dirfd);
    ssize_t length = readlink(link, out, STK_PATH_BYTES - 1);
    if (length <= 0) {
        return false;
    }
    int more = snprintf(out + length, STK_PATH_BYTES - (size_t)length, "/%s", name);
    return more > 0 && length + more < STK_PATH_BYTES;
}

/* The sum of what was removed, to be given back. */
struct entries_removed {
    _Atomic uint64_t files; /* of the entries */
    _Atomic int64_t blocks, inodes;
};

static void note_removed(struct entries_removed *removed, const char *name, const struct stat *stat)
{
    bool file = stk_entry_looks_like_file(name, stat);
    removed->files += file;
    passed += file;
    removed->blocks += stat->st_blocks;
    removed->inodes++;
}

static int remove_one(void *context, int dirfd, const char *name, const struct stat *stat)
{
    if (unlinkat(dirfd, name, S_ISDIR(stat->st_mode) ? AT_REMOVEDIR : 0) == 0) {
        note_removed(context, name, stat);
    }
    return 0;
}

/* Removes the versions of one file: the entries in its directory that end in its name. */
static void remove_versions(const char *directory, const char *leaf,
                            struct entries_removed *removed)
{
    struct stat stat_;
    OWNED_DIR DIR *entries = opendir(directory);
    struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        const char *name = entry->d_name;
        if (entries_is_name(name) && strcmp(name + STK_ENTRY_DIGITS + 1, leaf) == 0 &&
            fstatat(dirfd(entries), name, &stat_, AT_SYMLINK_NOFOLLOW) == 0) {
            remove_one(removed, dirfd(entries), name, &stat_);
        }
    }
}

static void remove_directory(const char *path, struct entries_removed *removed)
{
    struct stat stat_;
    if (lstat(path, &stat_) == 0) {
        remove_one(removed, AT_FDCWD, path, &stat_);
    }
}

/* Removes what has become empty above a path: up to its volume. */
static void remove_empty_above(char *path, size_t tree_length, struct entries_removed *removed)
{
    struct stat stat_;
    for (char *slash = strrchr(path, '/'); slash > path + tree_length; slash = strrchr(path, '/')) {
        *slash = '\0';
        if (lstat(path, &stat_) != 0 || unlinkat(AT_FDCWD, path, AT_REMOVEDIR) != 0) {
            return;
        }
        note_removed(removed, stk_path_leaf(path), &stat_);
    }
}

/* Returns false if a link or a mount is on the way: what lies behind it is no part of the tier. */
static bool is_of_tier(const char *tier_home, const char *path)
{
    STK_OWNED_FD int home =
        stk_sys_openat(AT_FDCWD, tier_home, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    STK_OWNED_FD int fd = home < 0 ? home
                                   : stk_sys_open_beneath(home, path + strlen(tier_home) + 1,
                                                          O_PATH | O_NOFOLLOW | O_CLOEXEC);
    return fd != -ELOOP && fd != -EXDEV;
}

/* Removes the entries below a directory of a root, or those of one file. */
static void remove_below(const char *tier_home, const char *root, const char *below,
                         struct entries_removed *removed)
{
    char path[8192];
    size_t tree_length = strlen(tier_home) + sizeof STK_ENTRY_TREE - 1;
    root_path(path, sizeof path, tier_home, root);
    size_t length = strlen(path);
    snprintf(path + length, sizeof path - length, "%s%s", *below != '\0' ? "/" : "", below);
    if (!is_of_tier(tier_home, path)) {
        return;
    }
    team_walk(path, remove_one, removed); /* the files; directories go behind them */
    if (stk_walk_within(path, remove_one, removed) == 0) {
        remove_directory(path, removed);
        remove_empty_above(path, tree_length, removed);
    } else if (*below != '\0') {
        *strrchr(path, '/') = '\0';
        remove_versions(path, stk_path_leaf(below), removed);
    }
}

void entries_give_back(const struct stk_tier *tier, int64_t blocks, int64_t inodes)
{
    if (inodes > 0 && tier->shared != NULL) {
        stk_tier_free(tier->shared, blocks, inodes);
    } else if (inodes > 0) {
        stk_ledger_free(tier->home, blocks, inodes);
    }
}

static int remove_blocks(void *context, int dirfd, const char *name, const struct stat *stat)
{
    return stk_entry_looks_like(name, stat) ? remove_one(context, dirfd, name, stat) : 0;
}

/* Removes the blocks of all files, since blocks do not say to which file they belong. A process
 * that reads them goes on with the origin. */
void entries_remove_blocks(const struct stk_tier *tier)
{
    char path[STK_HOME_BYTES + 8];
    struct entries_removed removed = {.files = 0};
    snprintf(path, sizeof path, "%s/fill", tier->home);
    stk_walk_within(path, remove_blocks, &removed);
    entries_give_back(tier, removed.blocks, removed.inodes);
}

uint64_t entries_remove_place(const struct stk_tier *tier, const char *root, const char *below)
{
    struct entries_removed removed = {.files = 0};
    remove_below(tier->home, root, below, &removed);
    entries_give_back(tier, removed.blocks, removed.inodes);
    return removed.files;
}

uint64_t entries_remove(const struct stk_tier *tier, const char *root, const char *path)
{
    char origin[4096];
    entries_origin(tier->home, root, origin, sizeof origin);
    const char *below = stk_path_is_below(origin, path) ? "" : stk_path_below(path, origin);
    return *origin != '\0' && below != NULL ? entries_remove_place(tier, root, below) : 0;
}

/* ---- entries of before ---- */

static int remove_old(void *context, int dirfd, const char *name, const struct stat *stat)
{
    atomic_bool *stop = context;
    unlinkat(dirfd, name, S_ISDIR(stat->st_mode) ? AT_REMOVEDIR : 0);
    return atomic_load(stop) ? -EINTR : 0;
}

void entries_remove_old(const char *tier_home, atomic_bool *stop)
{
    char path[STK_HOME_BYTES + NAME_MAX + 8];
    root_path(path, sizeof path, tier_home, "");
    int tree = stk_sys_open_nolinks(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    OWNED_DIR DIR *roots = tree >= 0 ? fdopendir(tree) : NULL;
    struct dirent *root;
    while (roots != NULL && !atomic_load(stop) && (root = readdir(roots)) != NULL) {
        root_path(path, sizeof path, tier_home, root->d_name);
        if (root->d_name[0] != '.' && !stk_location_is_volume(root->d_name) &&
            stk_walk_within(path, remove_old, stop) == 0) {
            rmdir(path);
        }
    }
}
