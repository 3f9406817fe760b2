/* A request as environment variables, by which a job's processes find the run. */
#pragma once

#include "base/options.h"
#include "cli/args/request.h"

/* Returns the value of STOKER_PATHS for this request. The caller frees it. */
char *request_paths(const struct request *request);
/* Sets the variable of an option. */
void request_set(enum stk_option option, const char *value);
/* Sets the variables by which this process and its children find the run in the file `run`. */
void request_export(const struct request *request, const char *run);
