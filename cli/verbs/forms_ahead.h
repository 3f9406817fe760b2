/* Makes the forms of JPEGs ahead. Only the package `stoker` can do that. So the command starts one
 * Python for each processor, and passes it the files' names one by one. */
#pragma once

#include <stdint.h>

#include "cli/args/request.h"
#include "cli/run/session.h"

/* Sets the environment for these Pythons, which keep forms in the session's store. Call it before
 * any thread is started, since threads might read the environment. */
void forms_prepare(const struct session *session);
/* Makes the forms of the files that are named as JPEGs among those that fill_ahead_run() has
 * listed. Returns how many files that were. Says so if it cannot be done. */
uint64_t forms_make(const struct request *request);
/* Makes forms_make() return soon. Safe in signal handlers. */
void forms_stop(void);
