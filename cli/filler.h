/*
 * One file of those that are filled ahead, by the calls that an open of a program's makes: what is
 * done with it, and what became of all of them. For cli/ahead.h, whose threads call it.
 */
#ifndef STK_CLI_FILLER_H
#define STK_CLI_FILLER_H

#include <stdbool.h>

#include "cli/ahead.h"
#include "cli/desk.h"
#include "cli/listing.h"

/* Both must stay. Before any thread. */
void filler_begin(struct stk_cache *cache, const struct request *request);
/* Whether this file is this node's. */
bool filler_wants(const struct listed *file);
/* Fills it, if need be, with its origin on the thread's desk. */
void filler_take(const struct listed *file, struct desk *desk);
/* Whether nothing more fits. */
bool filler_is_full(void);
/* Tells what became of the files so far. */
void filler_read(struct ahead_figures *out);

#endif
