/*
 * The causes that keep a run from having the requested cache. A table in the .c file gives each
 * cause one of two classes:
 *
 *   typed wrong         a name or a size is wrong on every node: the command does not start, one
 *                       line says why, and the status is 2
 *   lacking on a node   room, a right, a server or memory: one line says what is lacking. The job
 *                       goes on with the rest of the cache or with none, and the status is the
 *                       job's. Under --require-cache this is an error, too.
 *
 * `stoker warm` ends with status 2 if it can fill nothing. For one thread, before the job.
 */
#pragma once

#include "cli/args/request.h"

enum refusal_class { REFUSAL_TYPED, REFUSAL_NODE };

/* Returns the class of an error (-errno) of a directory that the user named. */
enum refusal_class refusal_class_of(int error);

/* The part of the cache that is lost: one of several things, or all of it. */
enum refusal_loss { REFUSAL_PART, REFUSAL_ALL };

/* Returns the part of a line that says how the job goes on. That is "going on without it; ",
 * "running uncached; ", or "" if the command does not start. */
const char *refusal_goes_on(const struct request *request, enum refusal_loss loss);
/* Says in one line what this node lacks. Exits with status 2 if the command does not start without
 * it. */
void refusal_report(const struct request *request, enum refusal_loss loss, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The error (-errno) of a tier or, without one, of the catalogue. 0: nothing is refused. */
struct refusal {
    int error;
    const struct request_tier *tier;
    int64_t room_bytes; /* with -ERANGE: the largest budget that there is room for */
};

/*
 * Has `use` make each tier of the request ready, in order. `use` returns 0 and the budget, or
 * -errno as attaching does (cache/tier/tier.h). Passes over a tier that this node does not let a
 * run use, and one that has no room beside an earlier tier. Says so in one line for each such tier,
 * and for each budget that is smaller than requested. Returns the refusal that leaves the run
 * without a cache: no tier is left, or an argument is wrong.
 */
typedef int refusal_use(void *context, const struct request_tier *tier, int64_t *budget_bytes);
struct refusal refusal_use_tiers(struct request *request, refusal_use *use, void *context);

/* Says in one line why there is no cache. `home` is the catalogue's. Exits with status 2 if the
 * command does not start, and returns if it runs uncached. */
void refusal_explain(const struct refusal *refusal, const char *home,
                     const struct request *request);
/* Says for each named tier that this node cannot look at that the run does without the tier. */
void refusal_pass_over_unusable(const struct request *request);
