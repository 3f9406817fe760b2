/* Puts the origin in the place of an entry, in descriptors and in maps. */
#include "preload/change/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/local.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/walk.h"
#include "cache/version/drop.h"
#include "preload/coverage/entry_origin.h"
#include "preload/coverage/entryfd.h"
#include "preload/coverage/process.h"
#include "preload/interpose/guard.h"

#define MAPS_BYTES (64u << 10)

struct restoring {
    struct stk_cache *cache;
    struct stk_identity written;
    int dirfd;
    const char *name;
};

static bool is_file(int fd, const struct stat *file)
{
    struct stat now;
    return stk_sys_fstat(fd, &now) == 0 && now.st_ino == file->st_ino && now.st_dev == file->st_dev;
}

/* Reads the identity of the file that is written. overlayfs gives a file that it copies up another
 * time of birth. */
static bool identify_written(int dirfd, const char *name, struct stk_identity *out)
{
    struct statfs fs;
    STK_OWNED_FD int fd = stk_sys_openat(dirfd, name, O_PATH | O_CLOEXEC, 0);
    if (fd < 0 || !stk_identity_of_file(fd, 0, out)) {
        return false;
    }
    if (stk_sys_fstatfs(fd, &fs) != 0 || stk_local_is_layered(&fs)) {
        out->btime_ns = STK_NO_TIME;
    }
    return true;
}

/* Returns true for the identity of the written file. An entry keeps no inode: if its origin was
 * removed, the next file that is made may have that inode's number. */
static bool is_written(const struct restoring *restoring, const struct stk_identity *identity)
{
    return stk_identity_same_file(&restoring->written, identity);
}

/* Opens the origin anew for reading. Returns a negative error if it cannot be opened. */
static int open_origin(const struct restoring *restoring, int flags)
{
    struct stk_identity found;
    int fd = stk_sys_openat(restoring->dirfd, restoring->name, O_RDONLY | O_CLOEXEC | flags, 0);
    bool same = fd >= 0 && stk_identity_of_file(fd, 0, &found) && is_written(restoring, &found);
    return stk_sys_opened(fd, same ? 0 : -ESTALE);
}

/* ---- descriptors ---- */

static bool take_number(const char *name, int *fd)
{
    uint64_t number;
    bool taken = stk_text_take_number(&name, &number) && number < INT32_MAX;
    *fd = taken ? (int)number : -1;
    return taken;
}

static int flag_on_exec(int fd)
{
    return stk_sys_is_closed_on_exec(fd) ? O_CLOEXEC : 0;
}

/* One open file description of an entry. `old` is a duplicate of it, Stoker's own, which exists
 * only while the description is replaced. `number` gets the origin's descriptor. */
struct open_description {
    int old, number;
    off_t offset;
};

/* Moves the new offset by what other threads have read by the old description since its offset was
 * looked at. */
static void catch_up(struct open_description *opened)
{
    off_t now = stk_sys_lseek(opened->old, 0, SEEK_CUR);
    if (now >= 0 && now != opened->offset) {
        stk_sys_lseek(opened->number, now - opened->offset, SEEK_CUR);
        opened->offset = now;
    }
}

/* Puts the origin on the number. If the offset moves, another thread is reading, and would get
 * bytes twice: then the description stays as it is. The last looks and dup3 follow each other. */
static bool put_in_place(struct open_description *opened, off_t before, int origin,
                         const struct stat *entry)
{
    int on_exec = flag_on_exec(opened->number);
    bool same = before >= 0 && is_file(opened->number, entry);
    opened->offset = stk_sys_lseek(opened->old, 0, SEEK_CUR);
    return same && opened->offset == before &&
           stk_sys_lseek(origin, opened->offset, SEEK_SET) == opened->offset &&
           stk_sys_dup3(origin, opened->number, on_exec) >= 0;
}

/* Gives the origin to the other numbers of the description that was replaced. */
static int follow(void *context, int dirfd, const char *name, const struct stat *link)
{
    const struct open_description *opened = context;
    int fd;
    (void)dirfd;
    (void)link;
    if (take_number(name, &fd) && fd != opened->old && stk_sys_is_same_open_file(opened->old, fd)) {
        stk_sys_dup3(opened->number, fd, flag_on_exec(fd));
    }
    return 0;
}

static bool replace_by(int origin, struct open_description *opened, off_t before,
                       const struct stat *entry)
{
    bool done = origin >= 0 && opened->old >= 0 && put_in_place(opened, before, origin, entry);
    stk_sys_close_opened(origin);
    if (done) {
        catch_up(opened);
        stk_walk("/proc/self/fd", follow, opened);
        catch_up(opened);
    }
    return done;
}

/* Replaces a description under all its numbers at once. Closes `origin`. */
static bool replace_fd(int fd, int origin, const struct stat *entry)
{
    struct open_description opened = {.old = stk_sys_dup_high(fd), .number = fd};
    bool done = replace_by(origin, &opened, stk_sys_lseek(fd, 0, SEEK_CUR), entry);
    stk_sys_close_opened(opened.old);
    return done;
}

static bool replace(const struct restoring *restoring, int fd, const struct stat *entry)
{
    return replace_fd(fd, open_origin(restoring, stk_entry_origin_flags(fd)), entry);
}

static int visit_fd(void *context, int dirfd, const char *name, const struct stat *link)
{
    const struct restoring *restoring = context;
    int fd;
    struct stat entry;
    struct stk_identity identity;
    (void)dirfd;
    (void)link;
    if (take_number(name, &fd) && stk_sys_fstat(fd, &entry) == 0 && stk_entryfd_may_be(&entry) &&
        stk_entryfd_identify(fd, &entry, &identity) && is_written(restoring, &identity) &&
        !replace(restoring, fd, &entry)) {
        stk_run_count(&restoring->cache->run, STK_RUN_COUNTER(stale), 1);
    }
    return 0;
}

static void restore_fds(struct restoring *restoring)
{
    if (stk_walk("/proc/self/fd", visit_fd, restoring) != 0) {
        stk_run_count(&restoring->cache->run, STK_RUN_COUNTER(stale), 1);
    }
}

/* ---- maps ---- */

/* One line of /proc/self/maps. */
struct mapped_range {
    uint64_t start, end, offset;
    bool readable, executable, shared;
    const char *path;
};

static bool take_hex(const char **at, uint64_t *out)
{
    const char *start = *at;
    *out = 0;
    for (; (**at >= '0' && **at <= '9') || (**at >= 'a' && **at <= 'f'); ++*at) {
        *out = *out << 4 | (uint64_t)(**at <= '9' ? **at - '0' : **at - 'a' + 10);
    }
    return *at > start;
}

/* Parses a line such as "7f00-7f01 r--s 00000000 00:1b 17   /dev/shm/...". */
static bool parse_map(const char *line, struct mapped_range *out)
{
    const char *at = line;
    if (!take_hex(&at, &out->start) || *at++ != '-' || !take_hex(&at, &out->end) || *at++ != ' ' ||
        strlen(at) < 5) {
        return false;
    }
    out->readable = at[0] == 'r';
    out->executable = at[2] == 'x';
    out->shared = at[3] == 's';
    at += 5;
    out->path = strchr(line, '/');
    return take_hex(&at, &out->offset) && out->path != NULL;
}

/* Returns true if the map is still there. Another thread may have unmapped it, and mapped another
 * file there. It still may in the moment between this look and the move: the kernel has no call
 * that does both. */
static bool is_still_there(const struct mapped_range *map)
{
    char link[80], path[STK_PATH_BYTES];
    stk_text_print(link, sizeof link, "/proc/self/map_files/%lx-%lx", map->start, map->end);
    ssize_t length = stk_sys_readlinkat(AT_FDCWD, link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    return strcmp(path, map->path) == 0;
}

/* Replaces a shared map of an entry in one step. The map was never written, as the entry is open
 * for reading only. The new map is made beside it first, since not every origin can be mapped. */
static bool remap(const struct mapped_range *map, int origin)
{
    size_t bytes = (size_t)(map->end - map->start);
    int protection = (map->readable ? PROT_READ : 0) | (map->executable ? PROT_EXEC : 0);
    void *aside = stk_sys_mmap(bytes, protection, MAP_SHARED, origin, (off_t)map->offset);
    if (aside == NULL) {
        return false;
    }
    if (!is_still_there(map) || !stk_sys_move_map(aside, bytes, (void *)(uintptr_t)map->start)) {
        stk_sys_munmap(aside, bytes);
        return false;
    }
    return true;
}

/* Restores one map. It is recognised by its path, since a map outlives its descriptor. */
static void restore_map(const struct restoring *restoring, const struct mapped_range *map)
{
    struct stk_identity identity;
    if (!stk_entryfd_identify_name(restoring->cache, map->path, &identity) ||
        !is_written(restoring, &identity)) {
        return;
    }
    STK_OWNED_FD int origin = map->shared ? open_origin(restoring, 0) : -1;
    if (origin < 0 || !remap(map, origin)) {
        stk_run_count(&restoring->cache->run, STK_RUN_COUNTER(stale), 1);
    }
}

/* Replaces each "\012" by the line feed of the name, in place. */
static void undo_escapes(char *line)
{
    char *to = line;
    for (const char *at = line; *at != '\0'; to++) {
        bool escaped = at[0] == '\\' && at[1] == '0' && at[2] == '1' && at[3] == '2';
        *to = (char)(escaped ? '\n' : *at);
        at += escaped ? 4 : 1;
    }
    *to = '\0';
}

static void restore_lines(const struct restoring *restoring, char *text)
{
    struct mapped_range map;
    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        undo_escapes(line);
        if (parse_map(line, &map)) {
            restore_map(restoring, &map);
        }
    }
}

/* Restores all maps. The kernel gives whole lines, a page of them at a time. */
static void restore_maps(const struct restoring *restoring)
{
    STK_OWNED_FD int fd = stk_sys_openat(AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
    char *buffer = stk_sys_memory(MAPS_BYTES);
    ssize_t got = fd < 0 || buffer == NULL ? -1 : 1;
    while (got > 0) {
        got = stk_sys_read(fd, buffer, MAPS_BYTES - 1);
        buffer[got > 0 ? got : 0] = '\0';
        restore_lines(restoring, buffer);
    }
    if (got < 0) {
        stk_run_count(&restoring->cache->run, STK_RUN_COUNTER(stale), 1);
    }
    stk_sys_munmap(buffer, MAPS_BYTES);
}

/* Apart, since it needs much stack. */
__attribute__((noinline)) void stk_restore_origin(struct stk_cache *cache, int dirfd,
                                                  const char *name)
{
    struct restoring restoring = {.cache = cache, .dirfd = dirfd, .name = name};
    if (identify_written(dirfd, name, &restoring.written)) {
        restore_fds(&restoring);
        restore_maps(&restoring);
    } else {
        stk_run_count(&cache->run, STK_RUN_COUNTER(stale), 1);
    }
}

/* ---- what is locked ---- */

static bool is_hdf5(int fd)
{
    static const char magic[8] = "\x89HDF\r\n\x1a\n";
    char found[sizeof magic];
    return stk_sys_pread(fd, found, sizeof found, 0) == (ssize_t)sizeof found &&
           memcmp(found, magic, sizeof magic) == 0;
}

/* Puts the origin in the entry's place, whatever version the origin has by now. */
static void replace_locked(int fd, const struct stat *entry)
{
    struct stk_entry_origin origin;
    if (stk_entry_origin_open(fd, &origin) && origin.fd >= 0) {
        int flags = O_RDONLY | O_CLOEXEC | stk_entry_origin_flags(fd);
        replace_fd(fd, stk_sys_openat(AT_FDCWD, origin.name, flags, 0), entry);
        stk_sys_close(origin.fd);
    }
}

void stk_restore_for_lock(int fd, bool shared)
{
    struct stk_guard guard;
    struct stat entry;
    if (!stk_entryfd_looks_so(fd, &entry) || (shared && is_hdf5(fd))) {
        return;
    }
    if (stk_guard_enter(&guard)) {
        replace_locked(fd, &entry);
        stk_guard_leave(&guard);
    }
}

/* ---- what cannot be read any more ---- */

/* Writes the entry's name. Another thread may have given the number to the origin meanwhile, whose
 * name must not be taken for the entry's. */
static bool name_failed(int fd, const struct stat *entry, char path[STK_PATH_BYTES])
{
    struct stat named;
    return stk_entryfd_name(fd, path) &&
           stk_sys_fstatat(AT_FDCWD, path, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           named.st_ino == entry->st_ino && named.st_dev == entry->st_dev;
}

/* Replaces the failed entry in this process, and drops it, so that no other process finds it. */
static bool replace_failed(struct stk_cache *cache, int fd, int origin, const struct stat *entry)
{
    char path[STK_PATH_BYTES];
    uint32_t record = stk_entryfd_record(cache, fd);
    bool named = record != 0 && name_failed(fd, entry, path);
    bool done = replace_fd(fd, origin, entry);
    if (named) {
        stk_drop_entry(cache, record, path);
    }
    return done;
}

/* True once an entry has failed. It is set before any number is given to an origin. A thread that
 * has read the entry by that number, and finds it replaced, reads again. If it was the origin that
 * could not be read, it is asked twice. */
static _Atomic bool any_failed;

__attribute__((noinline)) bool stk_restore_failed(int fd)
{
    bool done = false;
    struct stat entry;
    struct stk_guard guard;
    struct stk_cache *cache = NULL;
    bool ours = stk_process_is_on() && stk_sys_fstat(fd, &entry) == 0 && stk_entryfd_may_be(&entry);
    int origin = ours ? stk_entry_origin_open_to_read(fd) : -1;
    if (origin >= 0 && stk_guard_enter(&guard)) {
        cache = stk_process_cache();
        atomic_store(&any_failed, true);
        done = cache != NULL && replace_failed(cache, fd, origin, &entry);
        stk_guard_leave(&guard);
    }
    if (origin >= 0 && cache == NULL) {
        stk_sys_close(origin);
    }
    return done || (atomic_load(&any_failed) && !(ours && is_file(fd, &entry)));
}
