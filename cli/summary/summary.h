/* The outcome of a run: twelve lines for people (cli/out/summary_lines.h), one JSON object for
 * programs. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "cache/run/run.h"
#include "cli/args/request.h"
#include "cli/out/json.h"
#include "cli/out/say.h"
#include "cli/run/session.h"
#include "cli/summary/figures.h"

/* Prints the line at the start: the covered paths, the tier, its size, and how long it stays. */
void summary_announce(const struct request *request, const struct session *session);
/* Prints the lines at the end. They stand out if nothing was served. */
void summary_print(FILE *out, const struct figures *figures, unsigned most_rows);
/* Writes members of a JSON object: the meaning of a run's counters.
 * `ours`: it is this process's run. */
void summary_write_counted(struct json *json, const struct figures *figures, bool ours);
/* Writes the whole JSON object to an open descriptor. `status` is as of waitpid(). */
void summary_write_json(int fd, const struct figures *figures, int status);
/* Writes the members of that object, without its braces. */
void summary_put_json(struct json *json, const struct figures *figures, int status);

/* ---- parts of these ---- */

/* Adds the decoded images: where they came from, and how many were left to Pillow. */
void summary_add_decoded(const struct session *session);
/* Adds the stored results of functions. */
void summary_add_results(const struct session *session);
/* Adds tensors that were left to torch. Adds nothing if there were none. */
void summary_add_batches(const struct session *session);
/* Adds what is missing on this machine for decoding images or keeping samples. */
void summary_add_missing(const struct figures *figures);
/* Explains a run in which no covered file was opened: says where files were opened instead, or what
 * may have kept the library out. */
void summary_explain_nothing(const struct figures *figures);
