/*
 * Serves maps of big files. A map of a big file reads the origin, whatever blocks are there, and
 * goes on doing so. So a file that is not too large for that becomes an entry first, and the map is
 * made of the entry. A larger file is reported to `stoker run`, which finishes such files first,
 * and names them. In a process that has no big file open this costs one load; allocators map all
 * the time.
 *
 * /dev/shm often is mounted so that nothing there can be executed. An executable map is the
 * origin's then. The origin is asked only after the refusal, so that other calls do not pay for it.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

#include "base/sys.h"
#include "preload/coverage/entry_origin.h"
#include "preload/interpose/export.h"
#include "preload/interpose/next.h"
#include "preload/serve/big_read.h"

typedef void *mmap_function(void *, size_t, int, int, int, off_t);

struct map_call {
    void *address;
    size_t bytes;
    int protection, flags, fd;
    off_t offset;
};

/* Makes the map by the next symbol. Allocators call this while the next symbols are being looked
 * up. */
static void *map_by(mmap_function *next, const struct map_call *map, int fd)
{
    if (next != NULL) {
        return next(map->address, map->bytes, map->protection, map->flags, fd, map->offset);
    }
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return (void *)stk_next_result(
        stk_sys_map(map->address, map->bytes, map->protection, map->flags, fd, map->offset));
}

/* Returns true if the map only reads. A map that may write to the file, or execute it, is the
 * origin's. */
static bool only_reads(const struct map_call *map)
{
    return map->fd >= 0 && (map->flags & MAP_ANONYMOUS) == 0 &&
           (map->protection & PROT_EXEC) == 0 &&
           ((map->flags & MAP_TYPE) == MAP_PRIVATE || (map->protection & PROT_WRITE) == 0);
}

static bool is_not_executed(const struct map_call *map, const void *result)
{
    return result == MAP_FAILED && errno == EPERM && (map->protection & PROT_EXEC) != 0 &&
           (map->flags & MAP_ANONYMOUS) == 0;
}

static __attribute__((noinline)) void *map_origin(mmap_function *next, const struct map_call *map,
                                                  int before)
{
    STK_OWNED_FD int origin = stk_entry_origin_open_to_read(map->fd);
    if (origin < 0) {
        return MAP_FAILED;
    }
    errno = before;
    return map_by(next, map, origin);
}

static void *serve(mmap_function *next, const struct map_call *map)
{
    int before = errno;
    STK_OWNED_FD int entry =
        stk_big_is_any() && only_reads(map) ? stk_big_open_for_map(map->fd, map->bytes) : -1;
    void *result = map_by(next, map, entry >= 0 ? entry : map->fd);
    return is_not_executed(map, result) ? map_origin(next, map, before) : result;
}

#define MMAP_SYMBOL(name)                                                                          \
    STK_EXPORT(void *, name,                                                                       \
               (void *address, size_t bytes, int protection, int flags, int fd, off_t offset))     \
    {                                                                                              \
        const struct map_call map = {address, bytes, protection, flags, fd, offset};               \
        return serve(STK_NEXT(name, mmap_function *), &map);                                       \
    }

MMAP_SYMBOL(mmap)
MMAP_SYMBOL(mmap64)
