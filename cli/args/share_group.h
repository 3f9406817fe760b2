/* The group whose members use a shared tier together (cli/tiers/shared_tier.h). */
#pragma once

#include "cli/args/request.h"

/* Finds the group that the flag or, without it, the variable names. Call it before the tiers are
 * settled. Ends with a message if the flag is wrong. If the variable is wrong, says so, and no
 * group shares. */
void group_settle(struct request *request, const char *given);
/* Says that no tier is the group's, if that is so; ends with that message if the flag named the
 * group. */
void group_check_tiers(const struct request *request, const char *given);
