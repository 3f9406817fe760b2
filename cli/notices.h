/*
 * Notices (cache/notice.h) are heard here: a thread of the command notes in the run's table of
 * changes what processes tell it that cannot write there.
 */
#ifndef STK_CLI_NOTICES_H
#define STK_CLI_NOTICES_H

#include "cli/session.h"

/* Opens the run's socket, before the command starts: what is sent waits there. Without a socket
 * (another network namespace has it, or none is to be had) nothing is heard. */
void notices_open(struct session *session);
/* Starts to answer. */
void notices_begin(void);
/* Stops, and closes the socket. The catalogue is not used behind that. */
void notices_end(void);

#endif
