/*
 * What lies in a tier's room for drafts: entries in the making, and the blocks of big files that
 * are not whole. `home` is that of the catalogue. What goes is given back to the tier's budget;
 * what cannot be removed stays, and nobody is told.
 */
#ifndef STK_CLI_DRAFTS_H
#define STK_CLI_DRAFTS_H

#include "cache/tier.h"

/* Removes those that nobody writes to any more. */
void drafts_remove_dead(const char *home, const struct stk_tier *tier);
/* Removes the blocks that this catalogue knows: they are of no use without it. */
void drafts_remove_known(const char *home, const struct stk_tier *tier);

#endif
