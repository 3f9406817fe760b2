/*
 * mmap: a map of a big file reads the origin, whatever is there of its blocks, and goes on doing
 * so. So a file that is not too large for that becomes an entry first, and the map is made of that.
 * Of a larger one `stoker run` is told, which finishes such files first, and names them. Where this
 * process has no big file open that costs one load; allocators map all the time.
 *
 * /dev/shm often is mounted so that nothing there can be executed. A map that is to be is the
 * origin's then: asked for only after the refusal, so that nobody pays for it who does not need it.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

#include "base/sys.h"
#include "preload/big.h"
#include "preload/entryfd.h"
#include "preload/export.h"
#include "preload/next.h"

typedef void *mmap_function(void *, size_t, int, int, int, off_t);

struct map {
    void *address;
    size_t bytes;
    int protection, flags, fd;
    off_t offset;
};

/* Allocators call this while the next symbols are being looked up. */
static void *map_by(mmap_function *next, const struct map *map, int fd)
{
    if (next != NULL) {
        return next(map->address, map->bytes, map->protection, map->flags, fd, map->offset);
    }
    long result =
        stk_sys_map(map->address, map->bytes, map->protection, map->flags, fd, map->offset);
    if (result < 0 && result > -4096) {
        errno = (int)-result;
        return MAP_FAILED;
    }
    return (void *)result; // NOLINT(performance-no-int-to-ptr)
}

/* What may be written to the file, or executed, is the origin's. */
static bool only_reads(const struct map *map)
{
    return map->fd >= 0 && (map->flags & MAP_ANONYMOUS) == 0 &&
           (map->protection & PROT_EXEC) == 0 &&
           ((map->flags & MAP_TYPE) == MAP_PRIVATE || (map->protection & PROT_WRITE) == 0);
}

static bool is_not_executed(const struct map *map, const void *result)
{
    return result == MAP_FAILED && errno == EPERM && (map->protection & PROT_EXEC) != 0 &&
           (map->flags & MAP_ANONYMOUS) == 0;
}

static __attribute__((noinline)) void *map_origin(mmap_function *next, const struct map *map,
                                                  int before)
{
    int origin = stk_entryfd_open_origin(map->fd);
    if (origin < 0) {
        return MAP_FAILED;
    }
    errno = before;
    void *result = map_by(next, map, origin);
    stk_sys_close(origin);
    return result;
}

static void *serve(mmap_function *next, const struct map *map)
{
    int before = errno;
    int entry = stk_big_is_any() && only_reads(map) ? stk_big_open_for_map(map->fd) : -1;
    void *result = map_by(next, map, entry >= 0 ? entry : map->fd);
    if (entry >= 0) {
        stk_sys_close(entry);
    }
    return is_not_executed(map, result) ? map_origin(next, map, before) : result;
}

#define MMAP_SYMBOL(name)                                                                          \
    STK_EXPORT(void *, name, void *address, size_t bytes, int protection, int flags, int fd,       \
               off_t offset)                                                                       \
    {                                                                                              \
        const struct map map = {address, bytes, protection, flags, fd, offset};                    \
        return serve(STK_NEXT(name, mmap_function *), &map);                                       \
    }

MMAP_SYMBOL(mmap)
MMAP_SYMBOL(mmap64)
