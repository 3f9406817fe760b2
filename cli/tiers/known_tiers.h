/*
 * Caches that outlive their catalogue: tiers on disks, by the directories that runs have named.
 * They are remembered in XDG_STATE_HOME/stoker/tiers (~/.local/state/stoker/tiers), one a line.
 * Only the command writes there. Without such a directory nothing is remembered.
 */
#pragma once

#include "cache/catalogue/catalogue.h"
#include "cache/tier/tier.h"

/* Remembers the tier in this home (DIR/stoker-UID), and forgets tiers whose homes are gone. */
void tiers_remember(const char *home);

/* The tiers that a walk looks at. */
struct tiers {
    struct stk_catalogue *catalogue; /* NULL: there is none */
    const char *only;                /* a tier's directory, as the user named it; NULL: all */
};
/* Calls `visit` for each tier that has a home: first the catalogue's tiers, then the remembered
 * ones; or only the one that the user named. `tier->shared` is NULL if the catalogue does not know
 * the tier. */
void tiers_each(const struct tiers *tiers, void (*visit)(struct stk_tier *tier, void *context),
                void *context);

/* Takes `--tier DIR` from the front of a verb's arguments. Returns DIR, or NULL. */
const char *tiers_option(char ***arguments);
