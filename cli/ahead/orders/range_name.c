#include "cli/ahead/orders/range_name.h"

#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/least.h"
#include "base/memory.h"
#include "base/text.h"

#define WINDOW_BYTES (INT64_C(256) << 20)
#define WINDOW_SHARE 16 /* one in so many bytes of the available memory */

bool range_name_parse(const char *name, struct range_name *out)
{
    const char *mark = strstr(name, "//");
    if (mark == NULL) {
        return false;
    }
    const char *at = mark + 2;
    out->path_length = (size_t)(mark - name);
    if (!stk_text_take_number(&at, &out->offset) || *at++ != '+' ||
        !stk_text_take_number(&at, &out->bytes)) {
        return false;
    }
    out->opened = *at == '!';
    at += out->opened;
    return *at == '\0' && out->bytes > 0 && out->offset <= INT64_MAX &&
           out->bytes <= INT64_MAX - out->offset;
}

uint64_t range_window_bytes(void)
{
    static _Atomic int64_t window, looked_ns;
    int64_t now_ns = stk_clock_boottime_ns(), before_ns = atomic_load(&looked_ns);
    if ((before_ns == 0 || now_ns - before_ns > STK_NS_PER_S) &&
        atomic_compare_exchange_strong(&looked_ns, &before_ns, now_ns)) {
        int64_t available = stk_memory_available_bytes();
        atomic_store(&window,
                     available > 0 ? stk_least_signed(available / WINDOW_SHARE, WINDOW_BYTES) : 0);
    }
    return (uint64_t)atomic_load(&window);
}
