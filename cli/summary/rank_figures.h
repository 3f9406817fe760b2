/* The figures of each rank of a job that runs within one `stoker run`, as torchrun's do. */
#pragma once

#include "cli/out/json.h"
#include "cli/summary/figures.h"

/* Writes the ranks as a list, by their numbers; nothing if fewer than two did anything. */
void rank_figures_write_json(struct json *json, const struct session *session);
/* Adds a line about the rank that waited longest for data, if it waited markedly longer than the
 * others. */
void rank_figures_add_line(const struct session *session);
