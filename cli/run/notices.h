/* Receives notices (cache/run/notice.h): a thread of the command records changes in the run's table
 * for processes that cannot write to that table. */
#pragma once

#include "cli/run/session.h"

/* Opens the run's socket. Call it before the job starts: notices wait in the socket. If the socket
 * cannot be opened, no notice is received. A process in another network namespace cannot reach
 * it. */
void notices_open(struct session *session);
/* Starts the thread that receives. */
void notices_begin(void);
/* Stops the thread and closes the socket. The thread does not use the catalogue after that. */
void notices_end(void);
