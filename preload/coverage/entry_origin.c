/* Opens the origins of entries, by descriptors and by the names that the kernel gives these. */
#include "preload/coverage/entry_origin.h"

#include <fcntl.h>
#include <string.h>

#include "base/path.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/text.h"
#include "cache/catalogue/home.h"
#include "preload/coverage/cover.h"
#include "preload/coverage/entryfd.h"
#include "preload/coverage/process.h"
#include "preload/interpose/guard.h"

static bool have_none(struct stk_entry_origin *origin)
{
    origin->fd = -1;
    return stk_text_copy(origin->name, sizeof origin->name, "/proc/self/fd/none");
}

/* Opens a path on a high number. The program's call then goes by the name of that number, and may
 * open a file, which must get the lowest free number. */
static int open_path(const char *path)
{
    int low = stk_sys_openat(AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
    int high = low < 0 ? low : stk_sys_dup_high(low);
    if (high < 0) {
        return low;
    }
    stk_sys_close(low);
    return high;
}

/* Opens the origin of an entry, and compares the file that was opened, not the one at its path. */
static bool open_origin(struct stk_cache *cache, const char *path, const char *entry,
                        enum stk_likeness least, struct stk_entry_origin *origin)
{
    struct stk_identity found;
    origin->fd = open_path(path);
    if (origin->fd < 0) {
        return !have_none(origin);
    }
    if (stk_entryfd_compare(cache, origin->fd, "", AT_EMPTY_PATH, entry, &found) < least) {
        stk_sys_close(origin->fd);
        return !have_none(origin);
    }
    stk_proc_fd_path(origin->name, origin->fd);
    return true;
}

/* Returns the cache if `fd` looks like one of its entries. */
static struct stk_cache *cache_of(int fd)
{
    struct stat stat;
    bool may_be = stk_sys_fstat(fd, &stat) == 0 && stk_entryfd_may_be(&stat);
    return may_be ? stk_entryfd_cache_with_device(&stat) : NULL;
}

/* Opens the origin. If the descriptor's name cannot be read, it is unknown which origin it stands
 * for. Then the call fails, which is better than an entry that is changed. */
bool stk_entry_origin_open(int fd, struct stk_entry_origin *origin)
{
    char entry[STK_PATH_BYTES], path[STK_PATH_BYTES];
    uint32_t record;
    struct stk_cache *cache = cache_of(fd);
    have_none(origin);
    if (cache == NULL) {
        return false;
    }
    if (!stk_entryfd_name(fd, entry)) {
        return true;
    }
    if (!stk_cache_find_entry(cache, entry, path, &record)) {
        return false;
    }
    open_origin(cache, path, entry, STK_SAME_FILE, origin);
    return true;
}

/* Without O_NOFOLLOW, since the origin is opened by a name that is a link. */
int stk_entry_origin_flags(int fd)
{
    int flags = stk_sys_get_status_flags(fd);
    return flags < 0 ? 0 : flags & (O_NONBLOCK | O_APPEND | O_ASYNC | O_SYNC);
}

static int open_origin_of(int fd)
{
    char entry[STK_PATH_BYTES], path[STK_PATH_BYTES];
    uint32_t record;
    struct stk_entry_origin origin;
    struct stk_cache *cache = cache_of(fd);
    if (cache == NULL || !stk_entryfd_name(fd, entry) ||
        !stk_cache_find_entry(cache, entry, path, &record) ||
        !open_origin(cache, path, entry, STK_SAME_VERSION, &origin)) {
        return -ENOENT;
    }
    int flags = O_RDONLY | O_CLOEXEC | stk_entry_origin_flags(fd);
    int opened = stk_sys_openat(AT_FDCWD, origin.name, flags, 0);
    stk_sys_close(origin.fd);
    return opened;
}

int stk_entry_origin_open_to_read(int fd)
{
    struct stk_guard guard;
    int origin = -ENOENT;
    if (stk_process_is_on() && stk_guard_enter(&guard)) {
        origin = open_origin_of(fd);
        stk_guard_leave(&guard);
    }
    return origin;
}

/* Notes the change before the call, since a process may be killed right after it, and again after
 * the call. */
static void note_end(const struct stk_entry_origin *origin, enum stk_entry_origin_use end)
{
    struct stat stat;
    struct stk_cache *cache = stk_process_cache_if_ready();
    if (cache == NULL || end == STK_ENTRY_ORIGIN_ASKED || stk_sys_fstat(origin->fd, &stat) != 0) {
        return;
    }
    if (end == STK_ENTRY_ORIGIN_WRITTEN) {
        stk_cache_mark_inode(cache, &stat);
    } else {
        stk_cache_distrust_inode(cache, &stat);
    }
}

void stk_entry_origin_release(const struct stk_entry_origin *origin, enum stk_entry_origin_use end)
{
    struct stk_guard guard;
    if (origin->fd >= 0) {
        stk_guard_join(&guard);
        note_end(origin, end);
        stk_sys_close(origin->fd);
        stk_guard_leave(&guard);
    }
}

/* ---- names of descriptors ---- */

bool stk_entry_origin_may_name_fd(const char *path)
{
    if (stk_path_is_missing(path)) {
        return false;
    }
    while (path[0] == '/' && path[1] == '/') {
        path++;
    }
    return strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/dev/", 5) == 0;
}

/* Looks at the last character first: most paths end in no digit. */
bool stk_entry_origin_may_be_link(const char *path)
{
    if (stk_path_is_missing(path) || *path == '\0') {
        return false;
    }
    const char last = path[strlen(path) - 1];
    if (last < '0' || last > '9' || (*path == '/' && !stk_entry_origin_may_name_fd(path))) {
        return false;
    }
    const char *leaf = stk_path_leaf(path);
    return leaf[strspn(leaf, "0123456789")] == '\0' && stk_process_is_on();
}

/* Finds by the spelling whether a relative path leads below /proc or /dev. To follow it a server
 * may have to be asked. `absolute` is only room. */
static bool is_below_proc(int dirfd, const char *path, char absolute[STK_PATH_BYTES])
{
    if (path[0] == '/') {
        return true;
    }
    if (!stk_cover_directory_path(dirfd, absolute)) {
        return false;
    }
    struct stk_text text = {.start = absolute, .used = strlen(absolute), .room = STK_PATH_BYTES};
    stk_text_add_char(&text, '/');
    stk_text_add(&text, path);
    return !text.cut && stk_entry_origin_may_name_fd(absolute);
}

/* Reads a link of a descriptor. Returns false if it leads to no name such as an entry's: then the
 * process need not set up its cache. */
static bool read_link(int dirfd, const char *path, char entry[STK_PATH_BYTES])
{
    if (!is_below_proc(dirfd, path, entry)) {
        return false;
    }
    ssize_t length = stk_sys_readlinkat(dirfd, path, entry, STK_PATH_BYTES - 1);
    if (length <= 0) {
        return false;
    }
    entry[length] = '\0';
    return entry[0] == '/' && strstr(entry, STK_HOME_STEM) != NULL;
}

bool stk_entry_origin_is_link(int dirfd, const char *path)
{
    char entry[STK_PATH_BYTES];
    return read_link(dirfd, path, entry);
}

/* Finds the path of an entry's origin, and takes the kernel's mark off the entry's name. If the
 * file's own name ends so, the catalogue knows the whole name. */
static bool find_path(struct stk_cache *cache, char *entry, char path[STK_PATH_BYTES])
{
    uint32_t record;
    size_t mark = stk_entryfd_mark_bytes(entry);
    bool found = stk_cache_find_entry(cache, entry, path, &record);
    if (mark > 0 && (!found || record == 0)) {
        entry[strlen(entry) - mark] = '\0';
        found = stk_cache_find_entry(cache, entry, path, &record);
    }
    return found && path[0] == '/';
}

/* Returns true if the path leads to another file, or nowhere. */
static bool is_gone(struct stk_cache *cache, const char *path, const char *entry)
{
    struct stat stat;
    struct stk_identity found;
    int error = stk_sys_fstatat(AT_FDCWD, path, &stat, 0);
    return error == 0
               ? stk_entryfd_compare(cache, AT_FDCWD, path, 0, entry, &found) == STK_ANOTHER_FILE
               : stk_cover_is_no_change(error);
}

/* Writes the path that the kernel gives for a file that has lost its last link. The path's
 * directory is resolved, since a link may have led to it. */
static bool mark_path(const char *path, char out[STK_PATH_BYTES])
{
    const char *leaf = stk_path_leaf(path);
    struct stk_text text = stk_text_in(out, STK_PATH_BYTES);
    stk_text_add_bytes(&text, path, (size_t)(leaf - path));
    int fd = stk_sys_openat(AT_FDCWD, out, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd >= 0) {
        if (stk_cover_fd_path(fd, out)) {
            text.used = strlen(out);
            stk_text_add_char(&text, '/');
        }
        stk_sys_close(fd);
    }
    stk_text_add(&text, leaf);
    stk_text_add(&text, STK_DELETED_MARK);
    return !text.cut;
}

bool stk_entry_origin_open_by_link(int dirfd, const char *path, struct stk_entry_origin *origin,
                                   char name[STK_PATH_BYTES])
{
    char entry[STK_PATH_BYTES];
    struct stk_cache *cache = read_link(dirfd, path, entry) ? stk_process_cache() : NULL;
    have_none(origin);
    if (cache == NULL || !find_path(cache, entry, name)) {
        return false;
    }
    if (open_origin(cache, name, entry, STK_SAME_FILE, origin) || !is_gone(cache, name, entry)) {
        return true;
    }
    return mark_path(name, entry) && stk_text_copy(name, STK_PATH_BYTES, entry);
}

/* Opens the origin as stk_entry_origin_open does, by a name of the descriptor. */
static bool origin_by_path(const char *path, struct stk_entry_origin *origin)
{
    struct stat stat;
    have_none(origin);
    if (stk_sys_fstatat(AT_FDCWD, path, &stat, 0) != 0 || !stk_entryfd_may_be(&stat) ||
        stk_entryfd_cache_with_device(&stat) == NULL) {
        return false;
    }
    STK_OWNED_FD int fd = stk_sys_openat(AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
    return fd < 0 || stk_entry_origin_open(fd, origin);
}

bool stk_entry_origin_may_be_meant(const char *path, int flags)
{
    if (stk_path_is_empty(path)) {
        return (flags & AT_EMPTY_PATH) != 0 && stk_process_is_on();
    }
    return (flags & AT_SYMLINK_NOFOLLOW) == 0 && stk_entry_origin_may_name_fd(path) &&
           stk_process_is_on();
}

const char *stk_entry_origin_subject(int dirfd, const char *path, int flags,
                                     struct stk_entry_origin *origin)
{
    struct stk_guard guard;
    have_none(origin);
    if (!stk_process_is_on()) {
        return path;
    }
    stk_guard_join(&guard); /* an entry must not be changed, inside another guard either */
    bool known = false;
    if (stk_entry_origin_may_be_meant(path, flags)) {
        bool is_fd = stk_path_is_empty(path);
        known = is_fd ? stk_entry_origin_open(dirfd, origin) : origin_by_path(path, origin);
    }
    if (origin->fd >= 0) {
        note_end(origin, STK_ENTRY_ORIGIN_CHANGED);
    }
    stk_guard_leave(&guard);
    return known ? origin->name : path;
}
