/* The next symbols. See preload/next.h. */
#include "preload/next.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "preload/definition.h"
#include "preload/guard.h"

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
        next = stk_definition_next(names[symbol]);
        looking--;
        errno = saved;
        next = next != NULL ? next : &missing;
        atomic_store_explicit(&found[symbol], next, memory_order_release);
    }
    return next == &missing ? NULL : next;
}

int stk_next_missing(void)
{
    errno = ENOSYS;
    return -1;
}
