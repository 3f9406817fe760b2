#include "cli/tiers/known_tiers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "cli/out/flag.h"
#include "cli/out/say.h"
#include "cli/tiers/known_list.h"

static bool is_home(const char *path)
{
    return stk_home_is_name(stk_path_leaf(path)) && stk_home_check(path) == 0;
}

static const struct known_kind homes = {"tiers", is_home};

void tiers_remember(const char *home)
{
    known_list_remember(&homes, home);
}

/* ---- walking ---- */

/* Finds the tier with this home; the catalogue may know it or not. */
static void find(const struct tiers *tiers, const char *home, struct stk_tier *out)
{
    *out = (struct stk_tier){.shared = NULL};
    for (unsigned i = 0; tiers->catalogue != NULL && i < STK_TIERS; i++) {
        struct stk_tier known = {.shared = NULL};
        if (stk_tier_by_index(tiers->catalogue, i, &known) && strcmp(known.home, home) == 0) {
            *out = known;
        }
    }
    snprintf(out->home, sizeof out->home, "%s", home);
}

static void add_known(const struct tiers *tiers, struct known_list *list)
{
    for (unsigned i = 0; tiers->catalogue != NULL && i < STK_TIERS; i++) {
        struct stk_tier tier;
        if (stk_tier_by_index(tiers->catalogue, i, &tier)) {
            known_list_add(list, &homes, tier.home);
        }
    }
}

static void add_named(const char *directory, struct known_list *list)
{
    char home[STK_HOME_BYTES];
    OWNED char *canonical = realpath(directory, NULL);
    if (canonical == NULL) {
        die("--tier %s: %s: name a directory that is there", directory, strerror(errno));
    }
    if (stk_home_path(home, canonical)) {
        known_list_add(list, &homes, home);
    }
}

void tiers_each(const struct tiers *tiers, void (*visit)(struct stk_tier *tier, void *context),
                void *context)
{
    static struct known_list list;
    struct stk_tier tier;
    list.count = 0;
    if (tiers->only != NULL) {
        add_named(tiers->only, &list);
    } else {
        add_known(tiers, &list);
        known_list_add_remembered(&list, &homes);
    }
    for (unsigned i = 0; i < list.count; i++) {
        find(tiers, list.paths[i], &tier);
        visit(&tier, context);
    }
}

const char *tiers_option(char ***arguments)
{
    const char *value = **arguments != NULL ? flag_value(arguments, "--tier") : NULL;
    *arguments += value != NULL;
    return value;
}
