#include "cli/args/refusal.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/local.h"
#include "cache/catalogue/home.h"
#include "cache/tier/tier.h"
#include "cli/out/say.h"

#define LEAST_BYTES (INT64_C(1) << 20)

/* ---- the two classes ---- */

/*
 * Every cause, and its class for a directory that the user named. The user does not name the
 * catalogue's directory, nor Stoker's own directory in a tier: an error of either belongs to the
 * node. An error that is not in the table belongs to the node, too. Only a wrong argument stops a
 * job.
 */
static const struct cause {
    int error;
    enum refusal_class class_;
    const char *what;   /* printed behind a path */
    const char *advice; /* for the directory that was named */
    const char *remedy; /* for the user's own directory in it */
} causes[] = {
    {ENOENT, REFUSAL_TYPED, ": no such file or directory", "name a directory that is there",
     "start again"},
    {ENOTDIR, REFUSAL_TYPED, " is not a directory", "name one", "remove it"},
    {ELOOP, REFUSAL_TYPED, " is a symbolic link", "name the directory itself", "remove it"},
    {ENAMETOOLONG, REFUSAL_TYPED, ": too long", "name a directory with a shorter path",
     "name a directory with a shorter path"},
    {EPERM, REFUSAL_TYPED, " belongs to another user", "name a directory of your own",
     "remove it, or let its owner do so"},
    {ENOTUNIQ, REFUSAL_TYPED, " is writable by others", "`chmod go-w` it, or name another",
     "`chmod 700` it, or remove it"},
    {EACCES, REFUSAL_NODE, ": permission denied",
     "name a directory that you may write to with --tier DIR", "`chmod 700` it, or remove it"},
    {EROFS, REFUSAL_NODE, ": read-only file system",
     "name a directory that you may write to with --tier DIR",
     "name a directory that you may write to with --tier DIR"},
    {ENOSPC, REFUSAL_NODE, " is full",
     "free some space, name a larger budget, or another tier with --tier DIR", "free some space"},
    {EDQUOT, REFUSAL_NODE, ": the quota is used up",
     "free some space, or name another with --tier DIR", "free some space"},
    {EFBIG, REFUSAL_NODE, ": no file may be as large as is wanted there",
     "raise the limit (ulimit -f)", "raise the limit (ulimit -f)"},
    {EMEDIUMTYPE, REFUSAL_NODE, ": not on a local file system (tmpfs, ext4, xfs, btrfs, overlay)",
     "name a directory on a local disk or in /dev/shm", "name another"},
    {EMFILE, REFUSAL_NODE, ": this process may open no further file", "raise the limit (ulimit -n)",
     "raise the limit (ulimit -n)"},
    {EUSERS, REFUSAL_NODE, ": the cache knows as many tiers as it can by now",
     "`stoker clear` when no job runs", "`stoker clear` when no job runs"},
    {EPROTO, REFUSAL_NODE, " holds an index of another version of Stoker, which is in use",
     "`stoker clear` when its runs have ended", "`stoker clear` when its runs have ended"},
    {ENXIO, REFUSAL_NODE, ", which is to be shared, is on a disk of this node", "mount it",
     "mount it"},
    {ETIMEDOUT, REFUSAL_NODE, " does not answer", "name another with --tier DIR",
     "name another with --tier DIR"},
};

static const struct cause *cause_of(int error)
{
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        if (causes[i].error == -error) {
            return &causes[i];
        }
    }
    return NULL;
}

enum refusal_class refusal_class_of(int error)
{
    const struct cause *cause = cause_of(error);
    return cause != NULL ? cause->class_ : REFUSAL_NODE;
}

/* Returns true if the named directory is at fault, and not Stoker's own directory in it. */
static bool is_of_directory(const struct request_tier *tier, int error)
{
    return tier->error != 0 || error == -EMEDIUMTYPE ||
           stk_home_check_parent(tier->directory, NULL) == error;
}

/* Returns true if the given budget holds nothing: the user probably left out its unit. */
static bool is_no_budget(const struct refusal *refusal)
{
    return refusal->error == -ENOSPC && refusal->tier->budget_bytes >= 0 &&
           refusal->tier->budget_bytes < LEAST_BYTES;
}

static bool is_typed(const struct refusal *refusal)
{
    const struct request_tier *tier = refusal->tier;
    return tier != NULL && tier->named &&
           (is_no_budget(refusal) || (refusal_class_of(refusal->error) == REFUSAL_TYPED &&
                                      is_of_directory(tier, refusal->error)));
}

/* ---- how the job goes on ---- */

static bool ends(const struct request *request, enum refusal_loss loss)
{
    return request->require_cache || (loss == REFUSAL_ALL && request->warm_only);
}

const char *refusal_goes_on(const struct request *request, enum refusal_loss loss)
{
    return ends(request, loss)    ? ""
           : loss == REFUSAL_PART ? "going on without it; "
                                  : "running uncached; ";
}

void refusal_report(const struct request *request, enum refusal_loss loss, const char *format, ...)
{
    OWNED char *text = MUST_FORMAT_REST(format);
    if (ends(request, loss)) {
        die("%s", text);
    }
    say("%s", text);
}

/* ---- in words; the caller frees ---- */

static char *explain_own(const char *home, int error, const char *goes_on)
{
    const struct cause *cause = cause_of(error);
    if (error == -ENOENT && access("/proc/self/fd", F_OK) != 0) {
        return must_format("%s cannot be used without /proc, which is hidden or not mounted: "
                           "%smount it (mount -t proc proc /proc)",
                           home, goes_on);
    }
    return cause != NULL ? must_format("%s%s: %s%s", home, cause->what, goes_on, cause->remedy)
                         : must_format("%s: %s: %sname another place with --tier DIR", home,
                                       strerror(-error), goes_on);
}

static char *explain_catalogue(const char *home, int error, const char *goes_on)
{
    return error == -ENOSPC
               ? must_format("no tmpfs has room for the index of the cache (1 MiB in /dev/shm, "
                             "XDG_RUNTIME_DIR or /tmp): %sfree some, or enlarge /dev/shm (docker "
                             "run --shm-size=1g)",
                             goes_on)
               : explain_own(home, error, goes_on);
}

static char *explain_size(const struct refusal *refusal, const char *option)
{
    char wanted[STK_SIZE_TEXT], room[STK_SIZE_TEXT];
    const struct request_tier *tier = refusal->tier;
    size_text(wanted, (uint64_t)tier->budget_bytes);
    if (refusal->error == -ENOSPC) {
        return must_format("%s%s: a budget of %s holds nothing: name a larger one, with its unit, "
                           "such as 60G or 500M",
                           option, tier->directory, wanted);
    }
    return must_format("%s%s: %s is more than there is room for: at most %s", option,
                       tier->directory, wanted, size_text(room, (uint64_t)refusal->room_bytes));
}

/* Explains an error of a directory above a tier. Returns NULL if there is none. */
static char *explain_above(const struct refusal *refusal, const char *option, const char *goes_on)
{
    char where[STK_HOME_BYTES], *text = NULL;
    const char *tier = refusal->tier->directory;
    int error = refusal->tier->error == 0 ? stk_home_check_parent(tier, where) : 0;
    bool above = error != 0 && error == refusal->error && strcmp(where, tier) != 0;
    if (above && error == -ENOTUNIQ) {
        text = must_format("%s%s: %s, above it, is writable by others, who could put another tier "
                           "in its place: %s`chmod +t %s` (or go-w), or name a directory elsewhere",
                           option, tier, where, goes_on, where);
    } else if (above && error == -EPERM) {
        text = must_format("%s%s: %s, above it, belongs to another user, who could put another "
                           "tier in its place: %sname a directory elsewhere",
                           option, tier, where, goes_on);
    }
    return text;
}

static char *explain_tier(const struct refusal *refusal, const char *goes_on)
{
    const struct request_tier *tier = refusal->tier;
    const struct cause *cause = cause_of(refusal->error);
    const char *option = tier->named ? "--tier " : "";
    char home[STK_HOME_BYTES];
    if (refusal->error == -ERANGE || is_no_budget(refusal)) {
        return explain_size(refusal, option);
    }
    char *above = explain_above(refusal, option, goes_on);
    if (above != NULL) {
        return above;
    }
    bool inside =
        refusal_class_of(refusal->error) == REFUSAL_TYPED && !is_of_directory(tier, refusal->error);
    if (inside && stk_home_path(home, tier->directory) && stk_home_check(home) == refusal->error) {
        return explain_own(home, refusal->error, goes_on);
    }
    return cause != NULL && !inside
               ? must_format("%s%s%s: %s%s", option, tier->directory, cause->what, goes_on,
                             cause->advice)
               : must_format("%s%s: %s: %sname another with --tier DIR", option, tier->directory,
                             strerror(-refusal->error), goes_on);
}

void refusal_explain(const struct refusal *refusal, const char *home, const struct request *request)
{
    bool typed = is_typed(refusal);
    const char *goes_on = typed ? "" : refusal_goes_on(request, REFUSAL_ALL);
    OWNED char *text = refusal->tier != NULL ? explain_tier(refusal, goes_on)
                                             : explain_catalogue(home, refusal->error, goes_on);
    if (typed) {
        die("%s", text);
    }
    refusal_report(request, REFUSAL_ALL, "%s", text);
}

/* ---- all tiers ---- */

static void pass_over(const struct refusal *refusal, const struct request *request)
{
    if (refusal->error != 0) {
        OWNED char *text = explain_tier(refusal, refusal_goes_on(request, REFUSAL_PART));
        refusal_report(request, REFUSAL_PART, "%s", text);
    }
}

void refusal_pass_over_unusable(const struct request *request)
{
    for (unsigned i = 0; i < request->tier_count; i++) {
        const struct request_tier *tier = &request->tiers[i];
        if (tier->named) {
            pass_over(&(struct refusal){.error = tier->error, .tier = tier}, request);
        }
    }
}

static struct refusal use_one(const struct request_tier *tier, refusal_use *use, void *context)
{
    int64_t budget_bytes = tier->budget_bytes;
    int error = tier->error != 0 ? tier->error : use(context, tier, &budget_bytes);
    bool less = error == 0 && tier->budget_bytes - budget_bytes >= STK_BLOCK_BYTES;
    return (struct refusal){less ? -ERANGE : error, tier, budget_bytes};
}

static bool is_memory(const char *directory)
{
    struct statfs fs;
    return statfs(directory, &fs) == 0 && stk_local_is_memory(&fs);
}

/* Returns the resource that only one of two tiers can have: "file system", "memory" or NULL. A
 * computed budget takes all that a file system or the memory can give. */
static const char *shared_by(const struct request_tier *one, const struct request_tier *other)
{
    struct stat first, second;
    if (one->budget_bytes != STK_TIER_DEFAULT_BUDGET &&
        other->budget_bytes != STK_TIER_DEFAULT_BUDGET) {
        return NULL;
    }
    if (stat(one->directory, &first) == 0 && stat(other->directory, &second) == 0 &&
        first.st_dev == second.st_dev) {
        return "file system";
    }
    return is_memory(one->directory) && is_memory(other->directory) ? "memory" : NULL;
}

/* Leaves out a tier for which an earlier one leaves no room. An earlier tier that is not used
 * itself takes none. Two directories on one file system of this node may be on two file systems of
 * another node, so this stops no job. */
static void leave_out_beside(const struct request *request, struct request_tier *tier)
{
    for (const struct request_tier *before = request->tiers; before < tier; before++) {
        bool both = tier->error == 0 && before->error == 0 && !before->left_out && !tier->left_out;
        const char *shared = both ? shared_by(tier, before) : NULL;
        if (shared != NULL) {
            tier->left_out = true;
            refusal_report(
                request, REFUSAL_PART,
                "--tier %s is in the same %s as %s: %sgive each of them a budget, DIR:SIZE",
                tier->directory, shared, before->directory, refusal_goes_on(request, REFUSAL_PART));
        }
    }
}

/* Says that the budget is smaller, and lets the tier be used. */
static void clamp(struct refusal *refusal)
{
    if (refusal->error == -ERANGE) {
        OWNED char *text = explain_size(refusal, "--tier ");
        say("%s", text);
        *refusal = (struct refusal){.error = 0};
    }
}

struct refusal refusal_use_tiers(struct request *request, refusal_use *use, void *context)
{
    struct refusal pending = {.error = 0}; /* printed once it is known if another tier is left */
    bool any = false;
    for (unsigned i = 0; i < request->tier_count; i++) {
        struct request_tier *tier = &request->tiers[i];
        leave_out_beside(request, tier);
        if (tier->left_out) {
            continue;
        }
        struct refusal refusal = use_one(tier, use, context);
        if (refusal.error != 0 && (request->require_cache || is_typed(&refusal))) {
            return refusal;
        }
        clamp(&refusal);
        if (refusal.error != 0) {
            /* a full tier may have room later, and the job's processes use it then */
            tier->left_out = refusal.error != -ENOSPC;
            pass_over(&pending, request);
            pending = refusal;
        }
        any = any || refusal.error == 0;
    }
    if (any) {
        pass_over(&pending, request);
        pending.error = 0;
    }
    return pending;
}
