#include "cache/origin/buffer.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/sys.h"

static _Atomic(char *) spares[STK_BUFFERS_KEPT];

char *stk_buffer_take(void)
{
    char *taken = NULL;
    for (unsigned i = 0; i < STK_BUFFERS_KEPT && taken == NULL; i++) {
        taken = atomic_load(&spares[i]) != NULL ? atomic_exchange(&spares[i], NULL) : NULL;
    }
    return taken != NULL ? taken : stk_sys_memory(STK_BUFFER_BYTES);
}

static bool keep(_Atomic(char *) *spare, char *buffer)
{
    char *none = NULL;
    return atomic_compare_exchange_strong(spare, &none, buffer);
}

void stk_buffer_put(char *buffer)
{
    unsigned i = 0;
    while (i < STK_BUFFERS_KEPT && !keep(&spares[i], buffer)) {
        i++;
    }
    if (i == STK_BUFFERS_KEPT) {
        stk_sys_munmap(buffer, STK_BUFFER_BYTES);
    }
}
