/* Drafts of a tier: incomplete entries, and the blocks of big files that are not complete. `home`
 * is the home of the catalogue. Room of removed files is given back to the tier's budget. Files
 * that cannot be removed stay, without a message. */
#pragma once

#include "cache/tier/tier.h"

/* Removes drafts that no process writes to any more. */
void drafts_remove_dead(const char *home, const struct stk_tier *tier);
/* Removes the blocks that this catalogue knows: they are useless without it. */
void drafts_remove_known(const char *home, const struct stk_tier *tier);
