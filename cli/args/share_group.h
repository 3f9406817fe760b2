/* Groups of users that share tiers (cache/entry/members.h): finding a group, its members and their
 * homes. */
#ifndef STK_CLI_ARGS_SHARE_GROUP_H
#define STK_CLI_ARGS_SHARE_GROUP_H

#include <grp.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/args/request.h"

/* Returns the group of this name or number. Sets `out` to its entry, or to NULL if the machine has
 * none for that number. Ignores a ":" and what follows: STOKER_SHARE of an outer run has the
 * members there. Ends with a message if there is no such group. */
gid_t group_find(const char *value, struct group **out);
/* Returns true if this process is in the group. */
bool group_is_ours(gid_t gid);

/* Settles the group that the flag or, without it, the variable names, and its members. The
 * request's tiers must be known. Ends with a message if nothing could be shared: an explicit
 * request is not dropped. */
void group_settle(struct request *request, const char *given);

/* Calls `visit` for the homes that other members of this group have beside the home `beside` of a
 * tier. */
void group_each_home(const char *name, const char *beside, void (*visit)(const char *home));

#endif
