/*
 * A library that stands in for the symbols of libstoker.so, passes every call on and remembers that
 * it came. At the end the names of the calls, in their order, are in the file $TRACER_OUT.
 *
 * Arguments and results travel in registers, whatever the real signature is: so one shape serves
 * for all.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SEEN_MOST 1000000

enum symbol {
#define X(name) SYMBOL_##name,
#include "preload/interpose/symbols.def"
#undef X
    SYMBOLS
};

static const char *const names[] = {
#define X(name) #name,
#include "preload/interpose/symbols.def"
#undef X
};

typedef long function(long, long, long, long, long, long);

static _Atomic(function *) next[SYMBOLS];
static atomic_uint seen_count;
static unsigned char seen[SEEN_MOST];

static function *note(enum symbol symbol)
{
    unsigned at = atomic_fetch_add(&seen_count, 1);
    int saved = errno;
    if (at < SEEN_MOST) {
        seen[at] = (unsigned char)symbol;
    }
    if (next[symbol] == NULL) {
        next[symbol] = (function *)dlsym(RTLD_NEXT, names[symbol]);
    }
    errno = saved;
    return next[symbol];
}

#define X(name)                                                                                    \
    function tracer_##name __asm__(#name);                                                         \
    long tracer_##name(long a, long b, long c, long d, long e, long f)                             \
    {                                                                                              \
        return note(SYMBOL_##name)(a, b, c, d, e, f);                                              \
    }
#include "preload/interpose/symbols.def"
#undef X

static __attribute__((destructor)) void write_all(void)
{
    const char *path = getenv("TRACER_OUT");
    if (path == NULL) {
        return;
    }
    long fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, 0644);
    for (unsigned i = 0; i < seen_count && i < SEEN_MOST; i++) {
        const char *name = names[seen[i]];
        if (write((int)fd, name, strlen(name)) < 0 || write((int)fd, "\n", 1) < 0) {
            break;
        }
    }
    close((int)fd);
}
