/*
 * Serves scandir and its kin: the names that a filter accepts, sorted. libc would ask the origin by
 * symbols of its own. If the listing is known, or can be made, the functions here do the same with
 * it. The program frees the result, as libc's.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "preload/coverage/cover.h"
#include "preload/interpose/export.h"
#include "preload/interpose/next.h"
#include "preload/serve/directory.h"

typedef int filter_call(const struct dirent *);
typedef int compare_call(const struct dirent **, const struct dirent **);

/* One call, whichever symbol it came by. */
struct scandir_call {
    enum stk_symbol symbol;
    bool is_at;
    int dirfd;
    const char *path;
    struct dirent ***out;
    filter_call *filter;
    compare_call *compare;
};

static int next_scandir(const struct scandir_call *call)
{
    void *next = stk_next(call->symbol);
    if (next == NULL) {
        return stk_next_missing();
    }
    if (call->is_at) {
        return ((int (*)(int, const char *, struct dirent ***, filter_call *, compare_call *))next)(
            call->dirfd, call->path, call->out, call->filter, call->compare);
    }
    return ((int (*)(const char *, struct dirent ***, filter_call *, compare_call *))next)(
        call->path, call->out, call->filter, call->compare);
}

/* The names that are chosen. */
struct chosen {
    struct dirent **names;
    size_t count, room;
};

static bool keep(struct chosen *chosen, const struct stk_listing_name *name)
{
    if (chosen->count == chosen->room) {
        size_t room = chosen->room == 0 ? 16 : 2 * chosen->room;
        struct dirent **names = realloc(chosen->names, room * sizeof *names);
        if (names == NULL) {
            return false;
        }
        chosen->names = names;
        chosen->room = room;
    }
    struct dirent *copy = malloc(name->bytes);
    if (copy == NULL) {
        return false;
    }
    memcpy(copy, name, name->bytes);
    chosen->names[chosen->count++] = copy;
    return true;
}

static int give_up(const struct chosen *chosen)
{
    for (size_t i = 0; i < chosen->count; i++) {
        free(chosen->names[i]);
    }
    free(chosen->names);
    errno = ENOMEM;
    return -1;
}

/* Chooses the names. The filter and the comparison are the program's own functions: outside of the
 * guard. */
static int choose(const struct scandir_call *call, const struct stk_listing *listing)
{
    struct chosen chosen = {NULL, 0, 0};
    size_t at = 0;
    int saved = errno;
    const struct stk_listing_name *name;
    while ((name = stk_listing_at(listing, &at)) != NULL) {
        bool wanted =
            call->filter == NULL || call->filter((const struct dirent *)(const void *)name) != 0;
        if (wanted && !keep(&chosen, name)) {
            return give_up(&chosen);
        }
    }
    if (call->compare != NULL && chosen.count > 0) {
        qsort(chosen.names, chosen.count, sizeof *chosen.names,
              (int (*)(const void *, const void *))call->compare);
    }
    *call->out = chosen.names;
    errno = saved;
    return (int)chosen.count;
}

static bool list(const struct scandir_call *call, struct stk_directory_look *look)
{
    stk_directory_look(call->dirfd, call->path, look);
    if (look->found || look->cache == NULL) {
        return look->found;
    }
    struct stat stat;
    STK_OWNED_FD int fd =
        stk_sys_openat(call->dirfd, call->path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC, 0);
    return fd >= 0 && stk_sys_fstat(fd, &stat) == 0 && stk_directory_fill(look, fd);
}

/* Apart, so that a call on a path that is not covered does not need this much stack. */
static __attribute__((noinline)) bool list_perhaps(const struct scandir_call *call,
                                                   struct stk_listing *listing)
{
    struct stk_directory_look look;
    bool listed = list(call, &look);
    *listing = look.listing;
    return listed;
}

static int serve(const struct scandir_call *call)
{
    struct stk_listing listing;
    if (!stk_cover_may_at(call->dirfd, call->path) || !list_perhaps(call, &listing)) {
        return next_scandir(call);
    }
    int count = choose(call, &listing);
    stk_listing_close(&listing);
    return count;
}

/* Defines a symbol, and its twin for large files. DIRFD and a bracketed list of PARAMETERS differ.
 */
#define SCANDIR_SYMBOL(name, IS_AT, DIRFD, PARAMETERS)                                             \
    STK_EXPORT(int, name, PARAMETERS)                                                              \
    {                                                                                              \
        const struct scandir_call call = {                                                         \
            STK_SYM_##name, IS_AT, DIRFD, path, out, filter, compare};                             \
        return serve(&call);                                                                       \
    }
#define SCANDIR_SYMBOLS(name, ...)                                                                 \
    SCANDIR_SYMBOL(name, __VA_ARGS__)                                                              \
    SCANDIR_SYMBOL(name##64, __VA_ARGS__)

SCANDIR_SYMBOLS(scandir, false, AT_FDCWD,
                (const char *path, struct dirent ***out, filter_call *filter,
                 compare_call *compare))
SCANDIR_SYMBOLS(scandirat, true, dirfd,
                (int dirfd, const char *path, struct dirent ***out, filter_call *filter,
                 compare_call *compare))
