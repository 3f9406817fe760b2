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
/* What was left to the origin, and why: all of it, a line for each reason. */
void summary_print_bypassed(const uint64_t bypassed[STK_BYPASS_KINDS]);
/* What the counters of a run come to, for programs: members of a JSON object, behind the last of
 * which nothing stands. `ours`: it is this process's run. */
void summary_write_counted(FILE *out, const struct figures *figures, bool ours);
/* Opens that the origin served. Of big files those count whose blocks are not cached, either. */
uint64_t summary_bypassed(const struct stk_run_counts *counts, int why);
/* Of what size the files are: at most so much, where it is not known which of the opens were of the
 * same file. */
#define SUMMARY_SIZE_TEXT (STK_SIZE_TEXT + 8)
const char *summary_bypassed_size(char out[SUMMARY_SIZE_TEXT], const struct stk_run_counts *counts,
                                  int why);
/* Why that is, and what would change it; NULL: nothing does. */
extern const char *const summary_bypass_meanings[STK_BYPASS_KINDS];
extern const char *const summary_bypass_settings[STK_BYPASS_KINDS];
/* All of it for programs; status as waitpid gave it. Written to an open file. */
void summary_write_json(int fd, const struct figures *figures, int status);
/* The members of that object, without the brackets. */
void summary_put_json(FILE *out, const struct figures *figures, int status);

#endif
