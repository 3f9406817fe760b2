/*
 * Drops transient entries (cache/run/transient.h). To learn that no process has one open, a process
 * asks the kernel for a lease, and may get a signal for that. The shared-tier helper need not fear
 * that signal, so it drops entries when their room is wanted. The command drops the rest when the
 * run has ended.
 */
#pragma once

#include "cache/catalogue/catalogue.h"
#include "cache/run/run.h"

/* Makes room whenever the job asks for it, until the queue of shared requests is closed. Blocks.
 * For a process that gets no signals. */
void transient_watch(struct stk_catalogue *catalogue, const struct stk_run *run);

/* Drops all transient entries of a run, even open ones. Entries that other processes have open go
 * on counting in the budget. SIGIO is ignored meanwhile. */
void transient_drop_all(struct stk_catalogue *catalogue, const struct stk_run *run);

/* Drops all transient entries of a dead run, given by its file. `home` is the catalogue's. */
void transient_sweep(const char *home, const char *run_path);
