#include "cli/summary/automatic.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/local.h"
#include "base/memory.h"
#include "base/walk.h"
#include "cache/catalogue/budget.h"
#include "cli/out/say.h"
#include "cli/summary/forecast.h"

#define OPENS      9
#define MOST_LOOKS 1000 /* at directory entries, to find so many files */
#define QUICK_NS   (STK_NS_PER_S / 500)

/* ---- fast ---- */

struct probe {
    int64_t took_ns[OPENS]; /* sorted */
    unsigned count, looks;
};

static void note(struct probe *probe, int64_t took_ns)
{
    unsigned at = probe->count++;
    for (; at > 0 && probe->took_ns[at - 1] > took_ns; at--) {
        probe->took_ns[at] = probe->took_ns[at - 1];
    }
    probe->took_ns[at] = took_ns;
}

static int open_one(void *context, int dirfd, const char *name, unsigned depth,
                    const struct stat *stat)
{
    char byte;
    struct probe *probe = context;
    int64_t began_ns = stk_clock_boottime_ns();
    int fd = S_ISREG(stat->st_mode) && stat->st_size > 0
                 ? openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
                 : -1;
    (void)depth;
    if (fd >= 0) {
        if (pread(fd, &byte, 1, 0) == 1) {
            note(probe, stk_clock_boottime_ns() - began_ns);
        }
        close(fd);
    }
    return probe->count == OPENS || ++probe->looks == MOST_LOOKS;
}

/* Returns the time within which half of the opens end. */
static int64_t usual_open_ns(const char *path)
{
    struct probe probe = {.count = 0};
    stk_walk(path, open_one, &probe);
    return probe.count > 0 ? probe.took_ns[probe.count / 2] : 0;
}

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
    int64_t took_ns = usual_open_ns(path);
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
    return must_format("%s in %" PRIu64 " files; the page cache can have %s", bytes, look.files,
                       memory);
}

/* ---- both ---- */

void automatic_decide(struct request *request)
{
    char *why = NULL, *size = NULL;
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
    free(why);
    free(size);
}
