/* What a run did: ten lines for people (cli/summary_lines.h), one JSON object for programs. */
#ifndef STK_CLI_SUMMARY_H
#define STK_CLI_SUMMARY_H

#include <stdbool.h>
#include <stdio.h>

#include "cache/run.h"
#include "cli/request.h"
#include "cli/say.h"
#include "cli/session.h"
#include "cli/summary_figures.h"

/* The one line at the start: what, where, how large, until when. */
void summary_announce(const struct request *request, const struct session *session);
/* The lines at the end; loud when nothing was served. */
void summary_print(FILE *out, const struct figures *figures);
/* What the counters of a run come to, for programs: members of a JSON object, behind the last of
 * which nothing stands. `ours`: it is this process's run. */
void summary_write_counted(FILE *out, const struct figures *figures, bool ours);
/* All of it for programs; status as waitpid gave it. Written to an open file. */
void summary_write_json(int fd, const struct figures *figures, int status);
/* The members of that object, without the brackets. */
void summary_put_json(FILE *out, const struct figures *figures, int status);

#endif
