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

/* All at once, and before there are threads: this process may fork while another one holds the
 * loader's lock, perhaps for this, and the child could look up nothing any more. Constructors that
 * run before this one may need it earlier. */
__attribute__((constructor)) static void look_up(void)
{
    int saved = errno;
    looking++;
    stk_definition_find_next(names, STK_SYM_COUNT, found);
    looking--;
    errno = saved;
    for (unsigned i = 0; i < STK_SYM_COUNT; i++) {
        void *none = NULL;
        atomic_compare_exchange_strong(&found[i], &none, &missing);
    }
}

void *stk_next(enum stk_symbol symbol)
{
    void *next = atomic_load_explicit(&found[symbol], memory_order_acquire);
    if (next == NULL && looking == 0) {
        look_up();
        next = atomic_load_explicit(&found[symbol], memory_order_acquire);
    }
    return next == &missing ? NULL : next;
}

int stk_next_missing(void)
{
    errno = ENOSYS;
    return -1;
}
