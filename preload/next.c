/* The next symbols. See preload/next.h. */
#include "preload/next.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "preload/guard.h"

/* The oldest version, so that the library loads wherever one with a newer glibc's would not. */
#if defined(__x86_64__)
__asm__(".symver dlsym,dlsym@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver dlsym,dlsym@GLIBC_2.17");
#endif

static const char *const names[STK_SYM_COUNT] = {
#define X(name) #name,
#include "preload/symbols.def"
#undef X
};

static _Atomic(void *) found[STK_SYM_COUNT];
static char missing; /* its address stands for "there is none" */
static __thread int looking STK_TLS;

void *stk_next(enum stk_symbol symbol)
{
    void *next = atomic_load_explicit(&found[symbol], memory_order_acquire);
    if (next == NULL && looking == 0) {
        int saved = errno;
        looking++;
        next = dlsym(RTLD_NEXT, names[symbol]);
        looking--;
        errno = saved;
        next = next != NULL ? next : &missing;
        atomic_store_explicit(&found[symbol], next, memory_order_release);
    }
    return next == &missing ? NULL : next;
}
