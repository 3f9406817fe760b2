/* The tiers of a request: --tier, else STOKER_TIERS, else the default. Steps of request_parse(),
 * for one thread. A wrong argument ends in one line and status 2. */
#pragma once

#include "cli/args/request.h"

/* Finds the tiers, and the shared one. `given` is the flag's value, or NULL. A tier that this node
 * cannot look at keeps its error; the command says so when it uses the tiers. */
void request_settle_tiers(struct request *request, const char *given);

/* Settles the default tier once the covered paths are known. If the job needs the shared memory
 * itself, or there is none, the cache goes to a disk that the environment names, or nowhere. One
 * line says so (cli/args/refusal.h). */
void request_settle_small(struct request *request);

/* Checks, when paths and tiers are settled, that no tier lies in a covered path, and no covered
 * path in a tier. */
void request_check_tier_places(const struct request *request);

/* Returns the value of STOKER_TIERS. The caller frees. */
char *request_tiers(const struct request *request);
