/* Writing records. See cli/scribe.h. */
#include "cli/scribe.h"

#include <errno.h>

#include "cli/apart.h"

static struct apart apart;

struct job {
    const char *name;
    const struct history_record *record;
};

static void write_it(void *context, int out)
{
    const struct job *job = context;
    int error = history_write(job->name, job->record);
    apart_tell(out, &error, sizeof error);
}

bool scribe_write(const char *name, const struct history_record *record)
{
    struct job job = {name, record};
    return scribe_wait(0) != -ETIMEDOUT && apart_begin(&apart, write_it, &job);
}

int scribe_wait(int patience_ms)
{
    int error = 0;
    if (apart.pid == 0) {
        return 0;
    }
    switch (apart_wait(&apart, &error, sizeof error, patience_ms)) {
    case APART_TOLD:
        return error;
    case APART_GONE:
        return -ECHILD;
    default:
        return -ETIMEDOUT;
    }
}

void scribe_leave(void)
{
    if (apart.pid != 0) {
        apart_leave(&apart);
    }
}
