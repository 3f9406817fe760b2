/* Checks the directory that --decoded names. The check is made here because the store itself, in a
 * process of the job, gives up without a message. */
#pragma once

#include <stdbool.h>

#include "cli/args/request.h"

/* Returns true if a store in "DIR[:SIZE]" would not be refused (store/place.h). DIR itself may be
 * missing. A wrong argument ends with status 2. If this node does not allow the store, a line says
 * so (cli/args/refusal.h). Creates nothing, and waits for a server for seconds at most. */
bool samples_place_check(const struct request *request, const char *value);
