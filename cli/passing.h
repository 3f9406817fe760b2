/*
 * Entries that pass (cache/passing.h): who has none of them open, the kernel tells a process that
 * need not fear the signal which may come of asking. So the courier drops them, when their room is
 * wanted; and the command, when nobody asks for them any more.
 */
#ifndef STK_CLI_PASSING_H
#define STK_CLI_PASSING_H

#include "cli/session.h"

/* Makes room as it is asked for, until nothing is asked of shared tiers any more. For a process
 * that nobody sends signals to. Blocks. */
void passing_watch(struct session *session);

/* Drops all of a run, whoever has them open; what others have open goes on counting in the budget.
 * SIGIO is ignored meanwhile. */
void passing_drop_all(struct stk_catalogue *catalogue, const struct stk_run *run);

/* The same of a run that is dead, by its file; `home` is the catalogue's. */
void passing_sweep(const char *home, const char *run_path);

#endif
