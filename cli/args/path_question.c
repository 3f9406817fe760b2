#include "cli/args/path_question.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cli/os/detached.h"

/* An automount may take long, and an epoch takes longer. */
#define PATIENCE_MS 20000 /* for all paths together */
#define LEAST_MS    500   /* for each path after that */

static void ask(const char *path, struct path_answer *out)
{
    *out = (struct path_answer){.error = 0};
    if (realpath(path, out->canonical) == NULL) {
        out->error = errno != 0 ? -errno : -EIO;
        return;
    }
    out->error = stat(out->canonical, &out->stat) == 0 ? 0 : -errno;
    if (out->error == 0 && statfs(out->canonical, &out->fs) != 0) {
        out->fs.f_type = 0;
    }
}

static void ask_detached(void *context, int out)
{
    static struct path_answer answer;
    const char *const *path = context;
    ask(*path, &answer);
    detached_answer(out, &answer, sizeof answer);
}

/* Returns how long to wait for the next answer. */
static int patience_ms(int64_t waited_ms)
{
    return waited_ms < PATIENCE_MS - LEAST_MS ? (int)(PATIENCE_MS - waited_ms) : LEAST_MS;
}

void path_ask(const char *path, struct path_answer *out)
{
    static int64_t waited_ms;
    int64_t began_ns = stk_clock_boottime_ns();
    switch (detached_ask(ask_detached, &path, out, sizeof *out, patience_ms(waited_ms))) {
    case DETACHED_ANSWERED:
        break;
    case DETACHED_LATE:
        *out = (struct path_answer){.error = -ETIMEDOUT};
        break;
    default: /* no process could be started */
        ask(path, out);
    }
    waited_ms += (stk_clock_boottime_ns() - began_ns) / (STK_NS_PER_S / 1000);
}
