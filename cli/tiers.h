/*
 * Where caches lie that outlive their catalogue: tiers on disks, by the directories that runs have
 * named, remembered in XDG_STATE_HOME/stoker/tiers (~/.local/state/stoker/tiers), one a line. Only
 * the command writes there; without such a directory nothing is remembered.
 */
#ifndef STK_CLI_TIERS_H
#define STK_CLI_TIERS_H

#include <stdbool.h>

#include "cache/catalogue.h"
#include "cache/tier.h"

/* Remembers the tier in this home (DIR/stoker-UID); others whose homes are gone are forgotten. */
void tiers_remember(const char *home);

/* What a walk over tiers looks at. */
struct tiers {
    struct stk_catalogue *catalogue; /* NULL: there is none */
    const char *only;                /* a tier's directory, as the user named it; NULL: all */
};
/*
 * Calls `visit` for each tier that has a home: those of the catalogue, then those remembered, or
 * the one that the user named. `tier->shared` is NULL where the catalogue does not know it.
 */
void tiers_each(const struct tiers *tiers, void (*visit)(struct stk_tier *tier, void *context),
                void *context);

/* Takes `--tier DIR` from the front of a verb's arguments: DIR, or NULL. */
const char *tiers_option(char ***arguments);

#endif
