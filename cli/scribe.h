/*
 * A thread that writes records (cli/history.h), since the home that they lie in may be on a server
 * that does not answer: neither the looks at a run nor its end wait for that for long.
 */
#ifndef STK_CLI_SCRIBE_H
#define STK_CLI_SCRIBE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/history.h"

/* Has it written, and frees it then. The name must stay. False, and nothing is done: the one before
 * is being written yet, or there is no thread to be had. */
bool scribe_write(const char *name, const struct history_record *record);
/* Waits until the last one is written, at most so long: 0 or -errno, -ETIMEDOUT when it is not. */
int scribe_wait(int64_t patience_ns);

#endif
