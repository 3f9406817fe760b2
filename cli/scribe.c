/* A thread that writes records. See cli/scribe.h. */
#include "cli/scribe.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/sys.h"
#include "cli/thread.h"

static struct {
    const char *name;
    struct history_record record;
    int error;             /* of the last one */
    _Atomic uint32_t busy; /* 1 while one is written */
} scribe;

static void *write_it(void *context)
{
    scribe.error = history_write(scribe.name, &scribe.record);
    history_free(&scribe.record);
    atomic_store(&scribe.busy, 0);
    stk_sys_futex_wake_all(&scribe.busy);
    return context;
}

bool scribe_write(const char *name, const struct history_record *record)
{
    pthread_t thread;
    if (atomic_load(&scribe.busy) != 0) {
        return false;
    }
    scribe.name = name;
    scribe.record = *record;
    atomic_store(&scribe.busy, 1);
    if (!thread_start(&thread, write_it, NULL)) {
        atomic_store(&scribe.busy, 0);
        return false;
    }
    pthread_detach(thread);
    return true;
}

int scribe_wait(int64_t patience_ns)
{
    int64_t end_ns = stk_clock_boottime_ns() + patience_ns, left_ns = patience_ns;
    while (atomic_load(&scribe.busy) != 0 && left_ns > 0) {
        stk_sys_futex_wait(&scribe.busy, 1, left_ns);
        left_ns = end_ns - stk_clock_boottime_ns();
    }
    return atomic_load(&scribe.busy) != 0 ? -ETIMEDOUT : scribe.error;
}
