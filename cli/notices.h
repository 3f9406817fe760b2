/*
 * The receiver of notices (cache/notice.h): a thread of the command notes changes in the run's
 * table for processes that cannot write to that table.
 */
#ifndef STK_CLI_NOTICES_H
#define STK_CLI_NOTICES_H

#include "cli/session.h"

/* Opens the run's socket, before the job starts: notices wait there. If the socket cannot be
 * opened, no notice is received. A process in another network namespace does not reach it. */
void notices_open(struct session *session);
/* Starts to answer. */
void notices_begin(void);
/* Stops, and closes the socket. The thread does not use the catalogue after that. */
void notices_end(void);

#endif
