#include "cli/ahead/trees/list_ahead.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/sys.h"

static bool fill(struct stk_cache *cache, const struct stk_place *place, const char *path,
                 struct stk_listing *out)
{
    struct stat stat;
    struct stk_listing_source source = {.opened_ns = stk_clock_boottime_ns(), .by_path = true};
    source.fd = stk_sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    bool filled = source.fd >= 0 && stk_sys_fstat(source.fd, &stat) == 0 &&
                  stk_listing_fill(cache, place, &source, out);
    if (source.fd >= 0) {
        stk_sys_close(source.fd);
    }
    return filled;
}

bool list_ahead(struct stk_cache *cache, const char *path, struct stk_listing *out)
{
    struct stk_place place;
    return stk_cache_place_directory(cache, path, AT_FDCWD, path, &place) &&
           (stk_listing_find(cache, &place, out) || fill(cache, &place, path, out));
}
