/* Groups that share tiers (cache/group.h): who is in them, and what is asked of that. */
#ifndef STK_CLI_GROUP_H
#define STK_CLI_GROUP_H

#include "cli/request.h"

/* Finds out who is in the group that the flag or, without it, the variable names; its tiers are
 * known. Dies where nothing could be shared: what is asked for explicitly is not left out. */
void group_settle(struct request *request, const char *given);

/* Calls `visit` for the homes that other members of this group have beside the one of a tier. */
void group_each_home(const char *name, const char *beside, void (*visit)(const char *home));

#endif
