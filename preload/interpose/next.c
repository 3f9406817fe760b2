/* Keeps the table of next symbols. */
#include "preload/interpose/next.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "preload/interpose/definition.h"
#include "preload/interpose/guard.h"

static const char *const names[STK_SYM_COUNT] = {
#define X(name) #name,
#include "preload/interpose/symbols.def"
#undef X
};

static _Atomic(void *) found[STK_SYM_COUNT];
static char missing; /* its address stands for "there is none" */
static __thread int looking STK_TLS;

static void look_up(unsigned first, unsigned count)
{
    int saved = errno;
    looking++;
    stk_definition_find_next(names + first, count, found + first);
    looking--;
    errno = saved;
    for (unsigned i = first; i < first + count; i++) {
        void *none = NULL;
        atomic_compare_exchange_strong(&found[i], &none, &missing);
    }
}

void *stk_next(enum stk_symbol symbol)
{
    void *next = atomic_load_explicit(&found[symbol], memory_order_acquire);
    if (next == NULL && looking == 0) {
        look_up(symbol, 1);
        next = atomic_load_explicit(&found[symbol], memory_order_acquire);
    }
    return next == &missing ? NULL : next;
}

void stk_next_find_all(void)
{
    static atomic_bool done;
    if (!atomic_load(&done)) {
        look_up(0, STK_SYM_COUNT);
        atomic_store(&done, true);
    }
}

int stk_next_missing(void)
{
    errno = ENOSYS;
    return -1;
}

void *stk_next_missing_pointer(void)
{
    errno = ENOSYS;
    return NULL;
}

long stk_next_result(long answer)
{
    if (answer < 0 && answer >= -4095) {
        errno = (int)-answer;
        return -1;
    }
    return answer;
}
