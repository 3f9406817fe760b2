#include "cli/args/share_group.h"

#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/options.h"
#include "cli/out/say.h"

/* Takes a name or a number. A ":" and the text behind it are ignored: an older version put the
 * members there. Returns 0 if there is no such group. */
static gid_t find(char *name)
{
    char *end;
    name[strcspn(name, ":")] = '\0';
    const struct group *group = getgrnam(name);
    unsigned long number = strtoul(name, &end, 10);
    bool is_number = *name >= '0' && *name <= '9' && *end == '\0' && number < UINT32_MAX;
    return group != NULL ? group->gr_gid : is_number ? (gid_t)number : 0;
}

/* Ends with this complaint about a flag. A job does not fail for its environment. */
static void complain(const char *given, const char *name, const char *what)
{
    if (given != NULL) {
        die("--share %s: %s", name, what);
    }
    say("nothing is shared: %s=%s: %s", stk_option_table[STK_OPTION_SHARE].variable, name, what);
}

void group_settle(struct request *request, const char *given)
{
    const char *value = given != NULL ? given : stk_option_value(STK_OPTION_SHARE);
    if (given != NULL && *given == '\0') {
        die("--share names no group: see `getent group`");
    }
    if (value == NULL) {
        return;
    }
    char *name = must_copy(value);
    gid_t gid = find(name);
    if (geteuid() == 0) {
        complain(given, name, "root's cache is not shared: run it as the user whose job it is");
    } else if (gid == 0) {
        complain(given, name, "no such group on this machine: see `getent group`");
    } else {
        request->share_gid = gid;
        request->share_name = name;
        return;
    }
    free(name);
}

/* A tier that did not answer may be the group's. */
static bool lacks_any(const struct request *request)
{
    bool lacks = request->no_tier;
    for (unsigned i = 0; i < request->tier_count; i++) {
        lacks = lacks || request->tiers[i].error != 0;
    }
    return lacks;
}

void group_check_tiers(const struct request *request, const char *given)
{
    if (request->share_gid != 0 && !request->shared_by_group && !lacks_any(request)) {
        OWNED char *what = must_format(
            "no tier is that group's: `install -d -g %s -m 3770 DIR` makes a directory for one, "
            "which --tier DIR names then",
            request->share_name);
        complain(given, request->share_name, what);
    }
}
