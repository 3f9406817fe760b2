#include "cache/origin/buffer.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

#include "base/sys.h"

static _Atomic(char *) spare;

char *stk_buffer_take(void)
{
    char *taken = atomic_exchange(&spare, NULL);
    return taken != NULL ? taken
                         : stk_sys_mmap(STK_BUFFER_BYTES, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void stk_buffer_put(char *buffer)
{
    char *none = NULL;
    if (!atomic_compare_exchange_strong(&spare, &none, buffer)) {
        stk_sys_munmap(buffer, STK_BUFFER_BYTES);
    }
}
