/* The directory that --samples names: whether anything can be kept there. The store itself is the
 * guest of somebody's process, which goes on without a store, and says nothing. */
#ifndef STK_CLI_SAMPLES_PLACE_H
#define STK_CLI_SAMPLES_PLACE_H

#include <stdbool.h>

#include "cli/request.h"

/* Returns true if a store in "DIR[:SIZE]" would not be refused (store/place.h); DIR itself may be
 * missing. A wrong argument ends with status 2. If this node does not allow the store, a line says
 * so (cli/refusal.h). Makes nothing, and waits for no server for long. */
bool samples_place_check(const struct request *request, const char *value);

#endif
