/*
 * Writes records (cli/history.h) in a process of its own (cli/apart.h), since the home that they
 * lie in may be on a server that does not answer: neither the looks at a run nor its end wait for
 * that for long. One thread at a time may call.
 */
#ifndef STK_CLI_SCRIBE_H
#define STK_CLI_SCRIBE_H

#include <stdbool.h>

#include "cli/history.h"

/* Begins to write it; the record stays the caller's. False, and nothing is done: the one before is
 * being written yet, or there is no process to be had. */
bool scribe_write(const char *name, const struct history_record *record);
/* Waits until the last one is written, at most so long: 0 or -errno, -ETIMEDOUT when it is not. */
int scribe_wait(int patience_ms);
/* Leaves one that is not written yet to itself. */
void scribe_leave(void);

#endif
