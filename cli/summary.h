/* What a run did: one small table for people, one JSON object for programs. */
#ifndef STK_CLI_SUMMARY_H
#define STK_CLI_SUMMARY_H

#include "cache/run.h"
#include "cli/request.h"
#include "cli/session.h"

/* The one line at the start. */
void summary_announce(const struct request *request, const struct session *session);
/* The table at the end, on stderr; loud when nothing was served. */
void summary_print(const struct request *request, const struct session *session,
                   const struct stk_run_counts *counts);
/* Of this the lines that tell what was left to the origin, and why. */
void summary_print_bypassed(const uint64_t bypassed[STK_BYPASS_KINDS]);
/* The same for programs; status as waitpid gave it. Written to an open file. */
void summary_write_json(int fd, const struct request *request, const struct session *session,
                        const struct stk_run_counts *counts, int status, double seconds);

#endif
