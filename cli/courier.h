/*
 * The courier: a process of `stoker run` and `stoker warm` that makes all calls to a shared tier
 * (cli/shared.h), as the job asks for them (cache/errand.h). A server that is gone may hold it for
 * ever, and nobody else: each wait for it has a deadline, and it is left behind in the end.
 */
#ifndef STK_CLI_COURIER_H
#define STK_CLI_COURIER_H

#include <stdio.h>

#include "cli/request.h"
#include "cli/session.h"

/* Starts it, if the user has named a shared tier; before the environment is set, and before there
 * are threads. What only the user can mend ends all. */
void courier_begin(const struct request *request, struct session *session);
/* Says so, or why there is none. */
void courier_announce(const struct request *request);
/* Has it end: what is left to be published is, if that gets on and there is no haste. */
void courier_end(bool in_haste);

/* What it came to: lines of the summary, or nothing; and for --json. */
void courier_print(FILE *out);
void courier_write_json(FILE *out);

#endif
