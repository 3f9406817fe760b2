/* Notes in the cache which files and names the program changes. */
#include "preload/change/change.h"

#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/proc.h"
#include "base/sys.h"
#include "base/text.h"
#include "preload/change/restore.h"
#include "preload/coverage/cover.h"
#include "preload/coverage/entryfd.h"
#include "preload/coverage/process.h"
#include "preload/interpose/guard.h"

/* Apart, so that a call on a path that is not covered does not need this much stack. */
static __attribute__((noinline)) void mark_place(struct stk_write *write, int dirfd,
                                                 const char *path)
{
    struct stk_place place;
    struct stk_cache *cache = stk_cover_change(dirfd, path, &place);
    if (cache != NULL) {
        write->cache = cache;
        write->placed = true;
        if (place.root != NULL) {
            write->known = stk_cache_is_known(cache, &place);
            write->first = stk_cache_mark_written(cache, &place, &write->mark);
        }
    }
}

void stk_write_before(struct stk_write *write, int dirfd, const char *path)
{
    struct stk_guard guard;
    *write = (struct stk_write){.cache = NULL};
    if (!stk_process_is_on()) {
        return;
    }
    stk_guard_join(&guard);
    if (stk_cover_may_change(path)) {
        mark_place(write, dirfd, path);
    }
    write->cache = write->placed ? write->cache : stk_process_cache_if_ready();
    stk_guard_leave(&guard);
}

/* Notes that everything may have changed, if a cache is set up. */
static void distrust_all(struct stk_cache *cache)
{
    if (cache != NULL) {
        stk_cache_distrust_all(cache);
    }
}

/* Returns true if covered names may lead to the file through links, though it was opened by another
 * name. A file outside the roots with no other name can only be reached by a link that leads out of
 * them. Such a file is asked about again, but does not count as written for the rest of the run. */
static bool is_concerned(const struct stk_write *write, struct stk_cache *cache, int fd,
                         const struct stat *stat)
{
    return write->placed || fd < 0 || stat->st_nlink > 1 || stk_cover_has_fd(cache, fd, stat);
}

/* Returns true for the tiers' own files, such as samples. No covered name leads to them. If they
 * were noted, each process that opens a store would have another file asked about again, one that
 * shares the store's place in the table. */
static bool is_of_tier(const struct stk_cache *cache, const char *path)
{
    bool is = false;
    for (const struct stk_tier *tier = stk_cache_next_tier(cache, NULL); tier != NULL && !is;
         tier = stk_cache_next_tier(cache, tier)) {
        size_t length = strlen(tier->home);
        is = strncmp(path, tier->home, length) == 0 && path[length] == '/';
    }
    return is;
}

/* Restores the origin in all descriptors of the file that the program has open, by whatever name,
 * so that they show what it writes. */
static void restore(const struct stk_write *write, struct stk_cache *cache, int fd, int dirfd,
                    const char *path, const struct stat *stat)
{
    char name[32];
    if (cache == NULL || !(write->known || stk_entryfd_has_noted(stat->st_ino))) {
        return;
    }
    if (fd >= 0) {
        stk_proc_fd_path(name, fd);
    }
    stk_restore_origin(cache, fd >= 0 ? AT_FDCWD : dirfd, fd >= 0 ? name : path);
}

static void note_written(const struct stk_write *write, int fd, int dirfd, const char *path)
{
    struct stat stat;
    int error = fd >= 0 ? stk_sys_fstat(fd, &stat) : stk_sys_fstatat(dirfd, path, &stat, 0);
    struct stk_cache *cache = write->cache;
    if (error != 0) {
        distrust_all(cache); /* it is unknown which names are concerned */
    } else if (S_ISREG(stat.st_mode)) {
        cache = cache != NULL ? cache : stk_cover_cache_for_device(stat.st_dev);
        if (cache != NULL && is_concerned(write, cache, fd, &stat)) {
            stk_cache_mark_inode(cache, &stat);
        } else if (cache != NULL && !is_of_tier(cache, path)) {
            stk_cache_distrust_inode(cache, &stat);
        }
        restore(write, cache, fd, dirfd, path, &stat);
    }
}

void stk_write_after(const struct stk_write *write, bool done, int fd, int dirfd, const char *path)
{
    struct stk_guard guard;
    if (done ? !stk_process_is_on() : write->cache == NULL) {
        return;
    }
    stk_guard_join(&guard);
    if (done) {
        note_written(write, fd, dirfd, path);
    } else {
        stk_cache_unmark_written(write->cache, &write->mark);
    }
    stk_guard_leave(&guard);
}

static void note_all(struct stk_cache *cache, struct stk_noted *noted)
{
    noted->cache = cache;
    noted->all = true;
    distrust_all(cache);
}

static void note_file(struct stk_cache *cache, const struct stat *stat, struct stk_noted *noted)
{
    noted->cache = cache;
    noted->is_file = true;
    noted->dev = stat->st_dev;
    noted->ino = stat->st_ino;
    stk_cache_distrust_inode(cache, stat);
}

/* Notes the other names that a change of this name may concern. A directory or link leads to many
 * files, and a file may be known by hard links, and by paths through links. */
static void distrust_others(struct stk_cache *cache, enum stk_change kind, int dirfd,
                            const char *path, struct stk_noted *noted)
{
    struct stat stat;
    int error = stk_sys_fstatat(dirfd, path, &stat, AT_SYMLINK_NOFOLLOW);
    if (error != 0) {
        if (!stk_cover_is_no_change(error)) {
            note_all(cache, noted);
        }
    } else if (S_ISREG(stat.st_mode)) {
        note_file(cache, &stat, noted);
    } else if (S_ISLNK(stat.st_mode) || (kind != STK_CHANGE_TIMES && S_ISDIR(stat.st_mode))) {
        note_all(cache, noted);
    } else if (S_ISDIR(stat.st_mode)) {
        stk_cache_distrust_inode(cache, &stat);
    }
}

/* Notes the names that a change of a name may concern which is not covered itself. */
static void distrust_uncovered(enum stk_change kind, int dirfd, const char *path,
                               struct stk_noted *noted)
{
    struct stat stat;
    int flags = kind == STK_CHANGE_NAME ? AT_SYMLINK_NOFOLLOW : 0;
    int error = stk_sys_fstatat(dirfd, path, &stat, flags);
    if (error != 0) {
        if (!stk_cover_is_no_change(error)) {
            note_all(stk_process_cache_if_ready(), noted);
        }
        return;
    }
    struct stk_cache *cache = stk_cover_cache_for_device(stat.st_dev);
    if (cache == NULL) {
        return;
    }
    if (S_ISREG(stat.st_mode)) {
        note_file(cache, &stat, noted);
    } else if ((S_ISLNK(stat.st_mode) || S_ISDIR(stat.st_mode)) && kind != STK_CHANGE_TIMES &&
               stk_cover_leads_near(cache, dirfd, path, flags)) {
        note_all(cache, noted);
    } else if (S_ISDIR(stat.st_mode)) {
        stk_cache_distrust_inode(cache, &stat);
    }
}

/* Apart, so that a call on a path that is not covered does not need this much stack. */
static __attribute__((noinline)) bool distrust_place(enum stk_change kind, int dirfd,
                                                     const char *path, struct stk_noted *noted)
{
    struct stk_place place;
    struct stk_cache *cache = stk_cover_change(dirfd, path, &place);
    if (cache != NULL && place.root == NULL) {
        note_all(cache, noted);
    } else if (cache != NULL) {
        stk_cache_distrust(cache, &place);
        distrust_others(cache, kind, dirfd, path, noted);
    }
    return cache != NULL;
}

/* ---- what a directory holds ---- */

/* Writes the directory that holds a name: the path before its last component, "." if that is
 * empty. */
static bool parent_of(const char *path, char out[STK_PATH_BYTES])
{
    size_t length = strlen(path);
    while (length > 0 && path[length - 1] == '/') {
        length--;
    }
    while (length > 0 && path[length - 1] != '/') {
        length--;
    }
    struct stk_text text = stk_text_in(out, STK_PATH_BYTES);
    stk_text_add_bytes(&text, path, length);
    stk_text_add_char(&text, '.');
    return !text.cut;
}

/* Finds the directory that a path lies in. The path's buffer is on the stack in this function only:
 * the caller may set up the cache, which takes as much stack again. */
static __attribute__((noinline)) bool find_parent(int dirfd, const char *path, struct stat *stat)
{
    char parent[STK_PATH_BYTES];
    struct statx found;
    int flags = AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT;
    if (!parent_of(path, parent) ||
        stk_sys_statx(dirfd, parent, flags, STATX_TYPE | STATX_INO, &found) != 0) {
        return false;
    }
    *stat = (struct stat){.st_dev = makedev(found.stx_dev_major, found.stx_dev_minor),
                          .st_ino = found.stx_ino,
                          .st_mode = S_IFDIR};
    return true;
}

/* Notes the directory by its inode, since other paths may lead to it. Asks no server. A process
 * that cannot look at a directory cannot change a name in it either. */
static __attribute__((noinline)) void distrust_parent(int dirfd, const char *path)
{
    struct stat stat;
    struct stk_cache *cache =
        find_parent(dirfd, path, &stat) ? stk_cover_cache_for_device(stat.st_dev) : NULL;
    if (cache != NULL) {
        stk_cache_distrust_inode(cache, &stat);
    }
}

/* Notes the directory by its path, too: inode numbers that a mount makes up may have changed
 * since. */
static __attribute__((noinline)) void distrust_listing(int dirfd, const char *path)
{
    struct stk_place place;
    struct stk_cache *cache = stk_cover_change(dirfd, path, &place);
    if (cache != NULL && place.root == NULL) {
        distrust_all(cache);
    } else if (cache != NULL) {
        stk_cache_distrust_listing(cache, &place);
    }
}

static void change_listing(int dirfd, const char *path)
{
    if (stk_cover_may_change(path)) {
        distrust_listing(dirfd, path);
    }
    distrust_parent(dirfd, path);
}

void stk_change_listing(int dirfd, const char *path)
{
    struct stk_guard guard;
    if (stk_path_is_missing(path) || !stk_process_is_on()) {
        return;
    }
    stk_guard_join(&guard);
    change_listing(dirfd, path);
    stk_guard_leave(&guard);
}

/* ---- names and metadata ---- */

static void change(enum stk_change kind, int dirfd, const char *path, struct stk_noted *noted)
{
    struct stk_guard guard;
    if (stk_path_is_missing(path) || !stk_process_is_on()) {
        return;
    }
    stk_guard_join(&guard);
    if (kind == STK_CHANGE_NAME) {
        change_listing(dirfd, path);
    }
    if (!stk_cover_may_change(path) || !distrust_place(kind, dirfd, path, noted)) {
        distrust_uncovered(kind, dirfd, path, noted);
    }
    stk_guard_leave(&guard);
}

struct stk_noted stk_change(enum stk_change kind, int dirfd, const char *path)
{
    struct stk_noted noted = {NULL, false, false, 0, 0};
    bool of_fd = kind != STK_CHANGE_NAME && stk_path_is_empty(path);
    if (of_fd && dirfd >= 0) {
        stk_change_fd(kind, dirfd);
    } else {
        change(kind, dirfd, path, &noted);
    }
    return noted;
}

void stk_change_again(const struct stk_noted *noted)
{
    struct stk_guard guard;
    const struct stat stat = {.st_dev = noted->dev, .st_ino = noted->ino, .st_mode = S_IFREG};
    if (noted->cache == NULL) {
        return;
    }
    stk_guard_join(&guard);
    if (noted->all) {
        distrust_all(noted->cache);
    }
    if (noted->is_file) {
        stk_cache_distrust_inode(noted->cache, &stat);
    }
    stk_guard_leave(&guard);
}

void stk_change_fd(enum stk_change kind, int fd)
{
    char path[STK_PATH_BYTES];
    struct stk_noted noted;
    if (stk_cover_may("?") && stk_cover_fd_path(fd, path)) {
        change(kind, AT_FDCWD, path, &noted);
    }
}
