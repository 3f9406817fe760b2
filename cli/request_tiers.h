/*
 * Where a request has its cache lie: --tier, else STOKER_TIERS, else the default. Parts of the
 * parsing of a request (cli/request.h), by one thread; what is wrong ends in one line and status 2.
 */
#ifndef STK_CLI_REQUEST_TIERS_H
#define STK_CLI_REQUEST_TIERS_H

#include "cli/request.h"

/* Finds the tiers, and the shared one; `given` is the flag's value, or NULL. A tier that this node
 * cannot look at keeps its error. The command says it when it uses the tiers. */
void request_settle_tiers(struct request *request, const char *given);

/*
 * Settles the default tier when the covered paths are known. If the job needs the shared memory
 * itself, or there is none, the cache goes to a disk that the environment names, or nowhere. One
 * line says so (cli/refusal.h).
 */
void request_settle_small(struct request *request);

/* When both are settled: no tier lies in what is covered, and nothing that is covered in a tier. */
void request_check_tier_places(const struct request *request);

/* The value of STOKER_TIERS; the caller frees. */
char *request_tiers(const struct request *request);

#endif
