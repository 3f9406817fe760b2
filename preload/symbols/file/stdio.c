/*
 * Serves fopen, freopen and fdopen. The stream is always libc's. On a hit it opens the entry's
 * path. After a fill the entry takes the place of the descriptor under the fresh stream, which has
 * read nothing yet.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/sys.h"
#include "preload/change/change.h"
#include "preload/coverage/cover.h"
#include "preload/coverage/entry_origin.h"
#include "preload/coverage/process.h"
#include "preload/interpose/export.h"
#include "preload/interpose/guard.h"
#include "preload/interpose/next.h"
#include "preload/serve/big_read.h"
#include "preload/serve/open.h"

struct fopen_call {
    enum stk_symbol symbol;
    const char *path;
    const char *mode;
    FILE *stream; /* of freopen, or NULL */
};

static FILE *next_fopen(const struct fopen_call *call, const char *path)
{
    void *next = stk_next(call->symbol);
    if (next == NULL) {
        return stk_next_missing_pointer();
    }
    if (call->stream != NULL) {
        return ((FILE * (*)(const char *, const char *, FILE *)) next)(path, call->mode,
                                                                       call->stream);
    }
    return ((FILE * (*)(const char *, const char *)) next)(path, call->mode);
}

static FILE *fopen_for_writing(const struct fopen_call *call)
{
    struct stk_write write;
    bool makes = call->mode[0] != 'r';
    if (makes) {
        stk_change_listing(AT_FDCWD, call->path);
    }
    stk_write_before(&write, AT_FDCWD, call->path);
    FILE *file = next_fopen(call, call->path);
    stk_write_after(&write, file != NULL, file != NULL ? fileno(file) : -1, AT_FDCWD, call->path);
    if (makes && file != NULL) {
        stk_change_listing(AT_FDCWD, call->path);
    }
    return file;
}

/* freopen closes its stream even when it fails, so the entry must not be tried in vain. */
static bool entry_exists(const struct fopen_call *call, const char *entry)
{
    return call->stream == NULL || stk_sys_faccessat(AT_FDCWD, entry, 0) == 0;
}

/* Returns true if `result` is the result, a stream or a failure of the program's own. Inside the
 * guard. */
static bool fopen_entry(const struct fopen_call *call, struct stk_serve *serve, FILE **file,
                        int *error)
{
    bool there = entry_exists(call, serve->ask.entry);
    *file = there ? next_fopen(call, serve->ask.entry) : NULL;
    *error = there ? errno : ENOENT;
    if (*file != NULL || (there && call->stream != NULL)) {
        stk_serve_hit(serve);
        return true;
    }
    stk_serve_hit_failed(serve, *error);
    return false;
}

/* The mode does not say whether the stream is closed on exec: freopen leaves it so if it was. */
static FILE *fopen_origin(const struct fopen_call *call, struct stk_serve *serve)
{
    FILE *file = next_fopen(call, call->path);
    if (file != NULL) {
        int fd = fileno(file);
        serve->stream = true;
        stk_serve_end(serve, fd, O_RDONLY | (stk_sys_is_closed_on_exec(fd) ? O_CLOEXEC : 0));
    }
    return file;
}

/* Inside the guard, which it leaves. Apart, so that only a covered call needs this much stack. */
static __attribute__((noinline)) FILE *fopen_covered(const struct fopen_call *call,
                                                     struct stk_cache *cache,
                                                     const struct stk_place *place,
                                                     const struct stk_guard *guard)
{
    struct stk_serve serve;
    FILE *file = NULL;
    int error = 0;
    bool done = false;
    if (stk_serve_begin(&serve, cache, place, false) == STK_ANSWER_HIT) {
        done = fopen_entry(call, &serve, &file, &error);
    }
    stk_guard_leave(guard);
    if (!done) {
        return fopen_origin(call, &serve);
    }
    if (file == NULL) {
        errno = error;
    }
    return file;
}

static __attribute__((noinline)) FILE *fopen_perhaps(const struct fopen_call *call)
{
    struct stk_guard guard;
    struct stk_place place;
    if (!stk_guard_enter(&guard)) {
        return next_fopen(call, call->path);
    }
    struct stk_cache *cache = stk_cover(AT_FDCWD, call->path, &place);
    if (cache != NULL) {
        return fopen_covered(call, cache, &place, &guard);
    }
    stk_guard_leave(&guard);
    return next_fopen(call, call->path);
}

/* freopen without a path opens what the stream has open once more. */
static const char *path_of_stream(FILE *stream, struct stk_entry_origin *origin)
{
    int saved = errno;
    int fd = fileno(stream);
    errno = saved;
    const char *path = stk_entry_origin_subject(fd, "", AT_EMPTY_PATH, origin);
    return path == origin->name ? path : NULL;
}

/* Opens by a name that is not covered: it may be that of a descriptor which the library gave
 * out. */
static __attribute__((noinline)) FILE *fopen_uncovered_for_writing(const struct fopen_call *call)
{
    struct stk_entry_origin origin = {.fd = -1};
    struct fopen_call real = *call;
    if (call->path != NULL) {
        real.path = stk_entry_origin_subject(AT_FDCWD, call->path, 0, &origin);
    } else if (call->stream != NULL) {
        real.path = path_of_stream(call->stream, &origin);
    }
    FILE *file = fopen_for_writing(&real);
    stk_entry_origin_release(&origin,
                             file != NULL ? STK_ENTRY_ORIGIN_WRITTEN : STK_ENTRY_ORIGIN_ASKED);
    return file;
}

static FILE *serve(const struct fopen_call *call)
{
    if (!stk_process_is_on() || call->mode == NULL) {
        return next_fopen(call, call->path);
    }
    bool reads = call->mode[0] == 'r' && strchr(call->mode, '+') == NULL;
    if (!stk_cover_may(call->path)) {
        return reads ? next_fopen(call, call->path) : fopen_uncovered_for_writing(call);
    }
    return reads ? fopen_perhaps(call) : fopen_for_writing(call);
}

/* STREAM is freopen's, or NULL. PARAMETERS is a bracketed list. */
#define FOPEN_SYMBOL(name, STREAM, PARAMETERS)                                                     \
    STK_EXPORT(FILE *, name, PARAMETERS)                                                           \
    {                                                                                              \
        struct fopen_call call = {STK_SYM_##name, path, mode, STREAM};                             \
        return serve(&call);                                                                       \
    }

FOPEN_SYMBOL(fopen, NULL, (const char *path, const char *mode))
FOPEN_SYMBOL(fopen64, NULL, (const char *path, const char *mode))
FOPEN_SYMBOL(freopen, stream, (const char *path, const char *mode, FILE *stream))
FOPEN_SYMBOL(freopen64, stream, (const char *path, const char *mode, FILE *stream))

STK_DEFINE_NEXT_OR(stk_next_missing_pointer(), FILE *, fdopen, (int fd, const char *mode),
                   (fd, mode))

/* The stream keeps the descriptor, whose offset other processes may share. So a big file that it
 * will read is copied first, and left in the kernel's memory for it. */
STK_EXPORT(FILE *, fdopen, (int fd, const char *mode))
{
    if (stk_big_is_any() && mode != NULL && mode[0] == 'r' && strchr(mode, '+') == NULL) {
        stk_big_prepare_stream(fd);
    }
    return fdopen_next(fd, mode);
}
