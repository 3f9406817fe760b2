/* The figures of each rank of a job that runs within one `stoker run`, as torchrun's do. */
#pragma once

#include "cli/out/json.h"
#include "cli/summary/figures.h"

/* Writes the ranks as a list, by their numbers; nothing if fewer than two did anything. Opens are
 * left out if the session does not have the run's file open, as that of `stoker top`. */
void rank_figures_write_json(struct json *json, const struct session *session);
/* Adds a line about the rank that waited longest for data, if it waited markedly longer than the
 * others. */
void rank_figures_add_line(const struct session *session);
/* Returns how many ranks there are and which waited longest, in words, or NULL if fewer than two
 * did anything. The caller frees. */
char *rank_figures_text(const struct session *session);
