/* Runs that do not begin. See cli/refusal.h. */
#include "cli/refusal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cache/home.h"
#include "cli/say.h"

#define LEAST_BYTES (INT64_C(1) << 20)

/* Each of these texts has a place for how it goes on, if it does. The caller frees. */
static char *explain_home(const char *home, int error, const char *goes_on)
{
    switch (-error) {
    case EPERM:
        return must_format("%s belongs to another user: remove it, or let its owner do so", home);
    case EACCES:
        return must_format("%s is writable by others: `chmod 700` it, or remove it", home);
    case ELOOP:
        return must_format("%s is a symbolic link: remove it", home);
    case ENOTDIR:
        return must_format("%s is not a directory: remove it", home);
    case EPROTO:
        return must_format("%s holds a catalogue of another version of Stoker: `stoker clear`, or "
                           "remove it",
                           home);
    case ENOSPC:
        return must_format("no tmpfs has room for the catalogue (1 MiB in /dev/shm, "
                           "XDG_RUNTIME_DIR or /tmp): %sfree some, or enlarge /dev/shm (docker run "
                           "--shm-size=1g)",
                           goes_on);
    case EFBIG:
        return must_format("%s: no file may be as large as the catalogue: %sraise the limit "
                           "(ulimit -f)",
                           home, goes_on);
    default:
        return must_format("%s: %s: %sno catalogue can be made there", home, strerror(-error),
                           goes_on);
    }
}

/* A budget that holds nothing was mostly given without its unit. The caller frees. */
static char *explain_room(const struct request_tier *tier, const char *option, const char *goes_on)
{
    char size[STK_SIZE_TEXT];
    if (tier->budget_bytes >= 0 && tier->budget_bytes < LEAST_BYTES) {
        return must_format("%s%s: a budget of %s holds nothing: name a larger one, with its "
                           "unit, such as 60G or 500M",
                           option, tier->directory, size_text(size, (uint64_t)tier->budget_bytes));
    }
    return must_format("%s%s is full: %sfree some space, name a larger budget, or another tier "
                       "with --tier DIR",
                       option, tier->directory, goes_on);
}

/* NULL: what lies above a tier is not at fault. The caller frees. */
static char *explain_above(const struct refusal *refusal, const char *option)
{
    char where[STK_PATH_BYTES], *tier = realpath(refusal->tier->directory, NULL), *text = NULL;
    int error = tier != NULL ? stk_home_check_parent(tier, where) : 0;
    bool above = error != 0 && error == refusal->error && strcmp(where, tier) != 0;
    if (above && error == -EACCES) {
        text = must_format("%s%s: %s, above it, is writable by others, who could put another tier "
                           "in its place: `chmod +t %s` (or go-w), or name a directory elsewhere",
                           option, tier, where, where);
    } else if (above && error == -EPERM) {
        text = must_format("%s%s: %s, above it, belongs to another user, who could put another "
                           "tier in its place: name a directory elsewhere",
                           option, tier, where);
    }
    free(tier);
    return text;
}

static char *explain_tier(const struct refusal *refusal, bool given, const char *goes_on)
{
    const char *tier = refusal->tier->directory, *option = given ? "--tier " : "";
    char home[STK_HOME_BYTES], *above = explain_above(refusal, option);
    if (above != NULL) {
        return above;
    }
    stk_home_path(home, tier);
    switch (-refusal->error) {
    case EMEDIUMTYPE:
        return must_format("%s%s: not on a local file system (tmpfs, ext4, xfs, btrfs, overlay): "
                           "%sname a directory on a local disk or in /dev/shm",
                           option, tier, goes_on);
    case ENOSPC:
        return explain_room(refusal->tier, option, goes_on);
    case ERANGE:
        return must_format("%s%s: the budget is larger than the file system: name a smaller one, "
                           "or none",
                           option, tier);
    case EPERM:
        return must_format("%s%s: it or %s belongs to another user: name a directory of your own",
                           option, tier, home);
    case EACCES:
        return must_format("%s%s: it or %s is writable by others: `chmod go-w` it, or name another",
                           option, tier, home);
    case ELOOP:
        return must_format("%s%s: %s is a symbolic link: remove it, or name another", option, tier,
                           home);
    case ENOTDIR:
        return must_format("%s%s: %s is not a directory: remove it, or name another", option, tier,
                           home);
    case EMFILE:
        return must_format("%s%s: the cache knows %d tiers by now, and no more: `stoker clear` "
                           "when no job runs",
                           option, tier, STK_TIERS);
    default:
        return must_format("%s%s: %s%s", option, tier, goes_on, strerror(-refusal->error));
    }
}

/* What lies in the way and is somebody's, who has to look at it. */
static bool is_spoilt(int error)
{
    return error == -EPERM || error == -EACCES || error == -ELOOP || error == -ENOTDIR ||
           error == -EPROTO;
}

void refusal_explain(const struct refusal *refusal, const char *home, const struct request *request)
{
    bool ends = request->tier_given || request->warm_only || is_spoilt(refusal->error);
    const char *goes_on = ends ? "" : "running uncached; ";
    char *text = refusal->tier != NULL ? explain_tier(refusal, request->tier_given, goes_on)
                                       : explain_home(home, refusal->error, goes_on);
    if (ends) {
        die("%s", text);
    }
    say("%s", text);
    free(text);
}

void refusal_pass_over(const struct request_tier *tier)
{
    say("--tier %s is full: going on without it", tier->directory);
}
