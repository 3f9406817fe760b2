/*
 * Making the forms of JPEGs ahead. Only the package `stoker` can, so this is done by Pythons of
 * ours, one for each processor, which are told the files' names one by one.
 */
#ifndef STK_CLI_FORMS_H
#define STK_CLI_FORMS_H

#include <stdint.h>

#include "cli/request.h"
#include "cli/session.h"

/* Sets the environment for these Pythons, to keep forms in the session's store. Before any thread
 * is started, which might be reading it. */
void forms_prepare(const struct session *session);
/* Has the forms made of what is named as a JPEG among what ahead_run has listed, and returns how
 * many files that were. Says so where it cannot be done. */
uint64_t forms_make(const struct request *request);
/* Has it return soon. Safe in signal handlers. */
void forms_stop(void);

#endif
