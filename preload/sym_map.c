/*
 * mmap and fdopen, of files that are cached block by block. A map and a stream read what nobody
 * sees, so a file that is not too large becomes an entry first. The map is then the entry's, whose
 * bytes are the same; the stream reads the descriptor that it was given, whose offset others may
 * share, and finds the origin's bytes in memory. A map of a larger file reads the origin, and goes
 * on doing so: `stoker run` is told, which finishes such files first, and names them. Where this
 * process has no big file open that costs one load; allocators map all the time.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/sys.h"
#include "preload/big.h"
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

/* What may be written to the file is the origin's. */
static bool only_reads(const struct map *map)
{
    return map->fd >= 0 && (map->flags & MAP_ANONYMOUS) == 0 &&
           ((map->flags & MAP_TYPE) == MAP_PRIVATE || (map->protection & PROT_WRITE) == 0);
}

static void *serve(mmap_function *next, const struct map *map)
{
    int entry = stk_big_is_any() && only_reads(map) ? stk_big_open_for_map(map->fd) : -1;
    if (entry < 0) {
        return map_by(next, map, map->fd);
    }
    void *result = map_by(next, map, entry);
    stk_sys_close(entry);
    return result;
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

STK_EXPORT(FILE *, fdopen, int fd, const char *mode)
{
    FILE *(*next)(int, const char *) = STK_NEXT(fdopen, FILE * (*)(int, const char *));
    if (stk_big_is_any() && mode != NULL && mode[0] == 'r' && strchr(mode, '+') == NULL) {
        stk_big_prepare_stream(fd);
    }
    if (next == NULL) {
        errno = ENOSYS;
        return NULL;
    }
    return next(fd, mode);
}
