/* Where a run was begun: its terminal and its directory. By these `stoker last` and `stoker report`
 * find the run that the user means, among those of other terminals and jobs. */
#pragma once

#include "cli/history/history.h"

/* Returns this process's place, for HISTORY_PLACE. The caller frees. */
char *run_place(void);
/* Sorts a list: first the runs of this terminal, then those of this directory, then the others.
 * Each kind stays in its order. */
void run_place_sort(struct history_list *list);
