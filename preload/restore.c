/* Giving the origin back to descriptors and maps of its entry. See preload/restore.h. */
#include "preload/restore.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "base/proc.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/walk.h"
#include "preload/entryfd.h"

#define MAPS_BYTES (64u << 10)

struct restoring {
    struct stk_cache *cache;
    const struct stat *written;
};

static bool is_file(int fd, const struct stat *file)
{
    struct stat now;
    return stk_sys_fstat(fd, &now) == 0 && now.st_ino == file->st_ino && now.st_dev == file->st_dev;
}

/* The origin by which the entry that is open as `fd` was filled, opened anew; -1: it is another
 * file's entry, or none. */
static int open_origin(const struct restoring *restoring, int fd, int flags)
{
    struct stk_entry_origin origin;
    int opened = -1;
    if (!stk_entryfd_origin(fd, &origin)) {
        return -1;
    }
    if (origin.fd >= 0 && is_file(origin.fd, restoring->written)) {
        opened = stk_sys_openat(AT_FDCWD, origin.name, O_RDONLY | O_CLOEXEC | flags, 0);
    }
    stk_entryfd_release(&origin, STK_ORIGIN_ASKED);
    return opened;
}

/* ---- descriptors ---- */

/* What fcntl can set of an open file. */
static int status_flags(int fd)
{
    int flags = stk_sys_get_status_flags(fd);
    return flags < 0 ? 0 : flags & (O_NONBLOCK | O_APPEND | O_ASYNC);
}

static void restore_fd(const struct restoring *restoring, int fd, const struct stat *entry)
{
    int origin = open_origin(restoring, fd, status_flags(fd));
    if (origin < 0) {
        return;
    }
    int on_exec = stk_sys_is_closed_on_exec(fd) ? O_CLOEXEC : 0;
    off_t offset = stk_sys_lseek(fd, 0, SEEK_CUR);
    if (offset >= 0 && stk_sys_lseek(origin, offset, SEEK_SET) == offset && is_file(fd, entry)) {
        stk_sys_dup3(origin, fd, on_exec);
    }
    stk_sys_close(origin);
}

static int visit_fd(void *context, int dirfd, const char *name, unsigned depth,
                    const struct stat *link)
{
    const char *at = name;
    uint64_t number;
    struct stat entry;
    (void)dirfd;
    (void)depth;
    (void)link;
    if (stk_text_take_number(&at, &number) && number < INT32_MAX &&
        stk_sys_fstat((int)number, &entry) == 0 && stk_entryfd_may_be(&entry)) {
        restore_fd(context, (int)number, &entry);
    }
    return 0;
}

/* ---- maps ---- */

/* One line of /proc/self/maps. */
struct map {
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

static void add_address(struct stk_text *text, uint64_t address)
{
    unsigned digits = 1;
    while (digits < 16 && address >> (4 * digits) != 0) {
        digits++;
    }
    stk_text_add_hex(text, address, digits);
}

/* "7f00-7f01 r--s 00000000 00:1b 17   /dev/shm/..." */
static bool parse_map(const char *line, struct map *out)
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

/* Another thread may have unmapped it meanwhile, and mapped something else. It still may, in the
 * moment between this look and the move; the kernel has no call for both. */
static bool is_still_there(const struct map *map)
{
    char link[80], path[STK_PATH_BYTES];
    struct stk_text name = stk_text_in(link, sizeof link);
    stk_text_add(&name, "/proc/self/map_files/");
    add_address(&name, map->start);
    stk_text_add_char(&name, '-');
    add_address(&name, map->end);
    ssize_t length = stk_sys_readlinkat(AT_FDCWD, link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    return strcmp(path, map->path) == 0;
}

/* A shared map of an entry was never written, as the entry is open for reading only: so it can be
 * replaced in one step. The new one is made beside it first, since not every origin can be mapped.
 */
static bool remap(const struct map *map, int origin)
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

/* By its path: a map outlives its descriptor. */
static void restore_map(const struct restoring *restoring, const struct map *map)
{
    struct stk_entry_origin origin;
    if (!stk_entryfd_origin_of(restoring->cache, map->path, &origin)) {
        return;
    }
    bool ours = origin.fd >= 0 && is_file(origin.fd, restoring->written);
    int opened =
        ours && map->shared ? stk_sys_openat(AT_FDCWD, origin.name, O_RDONLY | O_CLOEXEC, 0) : -1;
    if (ours && (opened < 0 || !remap(map, opened))) {
        stk_run_count_stale_map(&restoring->cache->run);
    }
    if (opened >= 0) {
        stk_sys_close(opened);
    }
    stk_entryfd_release(&origin, STK_ORIGIN_ASKED);
}

static void restore_lines(const struct restoring *restoring, char *text)
{
    struct map map;
    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        if (parse_map(line, &map)) {
            restore_map(restoring, &map);
        }
    }
}

/* The kernel hands out whole lines, a page of them at a time. */
static void restore_maps(const struct restoring *restoring)
{
    int fd = stk_sys_openat(AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
    char *buffer =
        stk_sys_mmap(MAPS_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ssize_t got = fd < 0 || buffer == NULL ? -1 : 1;
    while (got > 0) {
        got = stk_sys_read(fd, buffer, MAPS_BYTES - 1);
        buffer[got > 0 ? got : 0] = '\0';
        restore_lines(restoring, buffer);
    }
    if (buffer != NULL) {
        stk_sys_munmap(buffer, MAPS_BYTES);
    }
    if (fd >= 0) {
        stk_sys_close(fd);
    }
}

/* Apart for its stack. */
__attribute__((noinline)) void stk_restore_origin(struct stk_cache *cache,
                                                  const struct stat *written)
{
    struct restoring restoring = {cache, written};
    stk_walk("/proc/self/fd", visit_fd, &restoring);
    restore_maps(&restoring);
}
