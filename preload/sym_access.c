/*
 * access and its kin: a known file exists, and a file whose entry is there was readable to this
 * user. Everything else (writable, executable, not known) is the origin's to say.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/sys.h"
#include "preload/cover.h"
#include "preload/export.h"
#include "preload/guard.h"
#include "preload/next.h"

static bool ask(struct stk_cache *cache, const struct stk_place *place, int mode)
{
    struct stk_identity identity;
    return mode == F_OK ? stk_cache_stat(cache, place, false, &identity)
                        : stk_cache_is_readable(cache, place);
}

/* Whether the answer is known to be yes. access() asks for the real user, entries are the
 * effective one's. */
static __attribute__((noinline)) bool is_known(int dirfd, const char *path, int mode)
{
    struct stk_guard guard;
    struct stk_place place;
    if (!stk_guard_enter(&guard)) {
        return false;
    }
    struct stk_cache *cache = stk_cover(dirfd, path, &place);
    bool yes = cache != NULL && ask(cache, &place, mode) &&
               (mode == F_OK || stk_sys_getuid() == stk_sys_geteuid());
    stk_guard_leave(&guard);
    return yes;
}

static bool is_served(int dirfd, const char *path, int mode)
{
    return (mode == F_OK || mode == R_OK) && stk_cover_may(path) && is_known(dirfd, path, mode);
}

/* For libcs that lack a symbol, which none do that have the program's own reference to it. */
typedef int path_call(const char *, int);

static int serve(enum stk_symbol symbol, const char *path, int mode)
{
    if (is_served(AT_FDCWD, path, mode)) {
        return 0;
    }
    path_call *next = (path_call *)stk_next(symbol);
    return next != NULL ? next(path, mode) : stk_next_missing();
}

#define ACCESS_SYMBOL(name)                                                                        \
    STK_EXPORT(int, name, const char *path, int mode)                                              \
    {                                                                                              \
        return serve(STK_SYM_##name, path, mode);                                                  \
    }

ACCESS_SYMBOL(access)
ACCESS_SYMBOL(euidaccess)
ACCESS_SYMBOL(eaccess)

STK_EXPORT(int, faccessat, int dirfd, const char *path, int mode, int flags)
{
    if ((flags & ~AT_EACCESS) == 0 && is_served(dirfd, path, mode)) {
        return 0;
    }
    int (*next)(int, const char *, int, int) =
        (int (*)(int, const char *, int, int))stk_next(STK_SYM_faccessat);
    return next != NULL ? next(dirfd, path, mode, flags) : stk_next_missing();
}
