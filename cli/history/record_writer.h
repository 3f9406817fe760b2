/* Writes records (cli/history/history.h) in a detached process (cli/os/detached.h): the records'
 * home may be on a server that does not answer. So neither the sampler nor the end of a run waits
 * long. One thread at a time may call. */
#pragma once

#include <stdbool.h>

#include "cli/history/history.h"

/* Begins to write the record, which stays the caller's. Returns false if it cannot: the last record
 * is still being written, or no process could be started. */
bool record_writer_write(const char *name, const struct history_record *record);
/* Waits until the last record is written, at most so long. Returns 0 or -errno: -ETIMEDOUT if it is
 * not written yet. */
int record_writer_wait(int patience_ms);
/* Leaves a record that is not written yet to its process. */
void record_writer_leave(void);
