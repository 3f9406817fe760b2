/*
 * What keeps a run from having the cache that was asked for. Each cause is of one of two classes,
 * which one table in cli/refusal.c tells:
 *
 *   typed wrong         a name or a size that is wrong on every node: the command does not start,
 *                       one line says why, and the status is 2
 *   lacking on a node   room, a right, a server, memory: one line says what is lacking, the job
 * goes on with the rest of the cache or with none, and the status is the job's; under
 * --require-cache this is an error, too
 *
 * `stoker warm` ends with status 2 where it could fill nothing. For one thread, before the job.
 */
#ifndef STK_CLI_REFUSAL_H
#define STK_CLI_REFUSAL_H

#include <stdbool.h>

#include "cli/request.h"

enum refusal_class { REFUSAL_TYPED, REFUSAL_NODE };

/* The class of an error (-errno) of a directory that was named. */
enum refusal_class refusal_class_of(int error);

/* What is lost: one of several things, or all of the cache. */
enum refusal_loss { REFUSAL_PART, REFUSAL_ALL };

/* Returns how the job goes on, as the middle of a line: "going on without it; " or "running
 * uncached;
 * ", or "" where the command does not start. */
const char *refusal_goes_on(const struct request *request, enum refusal_loss loss);
/* Says what this node lacks, in one line, and returns; exits with status 2 where the command does
 * not start for it. */
void refusal_tell(const struct request *request, enum refusal_loss loss, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* -errno, of a tier or (NULL) of the catalogue; 0: nothing is refused. */
struct refusal {
    int error;
    const struct request_tier *tier;
    int64_t room_bytes; /* with -ERANGE: what the budget would be */
};

/*
 * Has `use` make each tier of the request ready, in their order. It returns 0 and the budget, or
 * -errno as attaching (cache/tier.h). Tiers that this node does not let a run use are passed over,
 * and one line tells so of each; so it is of a budget that is less than was asked for. Returns what
 * keeps the run from having a cache: that no tier is left, or something that was typed wrong.
 */
typedef int refusal_use(void *context, const struct request_tier *tier, int64_t *budget_bytes);
struct refusal refusal_use_tiers(struct request *request, refusal_use *use, void *context);

/* Says in one line why there is no cache; `home` is the catalogue's. Exits with status 2 where the
 * command does not start, and returns where it runs uncached. */
void refusal_explain(const struct refusal *refusal, const char *home,
                     const struct request *request);
/* Says of the named tiers that cannot be looked at that the run does without them. */
void refusal_pass_over_unusable(const struct request *request);

#endif
