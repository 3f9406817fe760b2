#include "cli/history/record_writer.h"

#include <errno.h>

#include "cli/os/detached.h"

static struct detached detached;

struct record_job {
    const char *name;
    const struct history_record *record;
};

static void write_it(void *context, int out)
{
    const struct record_job *job = context;
    int error = history_write(job->name, job->record);
    detached_answer(out, &error, sizeof error);
}

bool record_writer_write(const char *name, const struct history_record *record)
{
    struct record_job job = {name, record};
    return record_writer_wait(0) != -ETIMEDOUT && detached_begin(&detached, write_it, &job);
}

int record_writer_wait(int patience_ms)
{
    int error = 0;
    if (detached.pid == 0) {
        return 0;
    }
    switch (detached_wait(&detached, &error, sizeof error, patience_ms)) {
    case DETACHED_ANSWERED:
        return error;
    case DETACHED_GONE:
        return -ECHILD;
    default:
        return -ETIMEDOUT;
    }
}

void record_writer_leave(void)
{
    if (detached.pid != 0) {
        detached_leave(&detached);
    }
}
