#include "cli/summary/automatic.h"

#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/clock.h"
#include "base/local.h"
#include "base/memory.h"
#include "cache/catalogue/budget.h"
#include "cli/os/open_time.h"
#include "cli/out/say.h"
#include "cli/summary/forecast.h"

#define QUICK_NS (STK_NS_PER_S / 500)

/* ---- fast ---- */

/* Returns why opens may wait on this file system, or NULL if they do not. The caller frees. */
static char *why_slow(const char *path)
{
    struct statfs fs;
    struct stat stat_;
    if (statfs(path, &fs) != 0 || stat(path, &stat_) != 0 || !stk_local_is(&fs)) {
        return must_format("%s is not on a local disk", path);
    }
    if (stk_local_is_memory(&fs) || stk_local_rotates(stat_.st_dev) == 0) {
        return NULL;
    }
    int64_t took_ns = open_time_below_ns(path);
    return took_ns > QUICK_NS
               ? must_format("opens below %s take %.1f ms", path, (double)took_ns / 1e6)
               : NULL;
}

/* ---- small ---- */

/* Returns the size of all covered files. Returns NULL if they do not fit into the memory of the
 * page cache, with the reason in `why`. The caller frees both. */
static char *size_if_small(const struct request *request, char **why)
{
    char bytes[STK_SIZE_TEXT], memory[STK_SIZE_TEXT];
    struct forecast_look look;
    int64_t free_bytes =
        stk_budget_less_reserve(stk_memory_available_bytes(), STK_BUDGET_LEAST_RESERVE_BYTES);
    forecast_look(request, &look);
    size_text(bytes, look.bytes);
    size_text(memory, (uint64_t)free_bytes);
    if (look.bytes > (uint64_t)free_bytes) {
        *why = must_format("the data set holds %s%s, and the page cache can have %s",
                           look.cut ? "at least " : "", bytes, memory);
        return NULL;
    }
    if (look.cut) {
        *why =
            must_format("the data set holds at least %s, and more than a short look shows", bytes);
        return NULL;
    }
    return must_format("%s in " COUNTED "; the page cache can have %s", bytes,
                       COUNT_OF(look.files, "file", "files"), memory);
}

/* ---- both ---- */

void automatic_decide(struct request *request)
{
    OWNED char *why = NULL, *size = NULL;
    if (!request->automatic || request->no_tier) {
        return;
    }
    for (unsigned i = 0; i < request->count && why == NULL; i++) {
        why = why_slow(request->canonical[i]);
    }
    size = why == NULL ? size_if_small(request, &why) : NULL;
    if (size != NULL) {
        request->files_left = must_format("%s%s local and fast (%s)", request->spelled[0],
                                          request->count > 1 ? " and the others are" : " is", size);
        request->warm = false;
    } else {
        say("--auto: files are cached as well: %s", why);
    }
}
