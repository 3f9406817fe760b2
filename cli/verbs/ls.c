/* `stoker ls`: lists the cached roots, the tiers, and the live runs. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/samples.h"
#include "cache/tier/ledger.h"
#include "cli/fill/progress.h"
#include "cli/out/say.h"
#include "cli/run/live_runs.h"
#include "cli/run/session.h"
#include "cli/tiers/entries.h"
#include "cli/tiers/known_stores.h"
#include "cli/tiers/known_tiers.h"
#include "cli/tiers/usage.h"
#include "cli/verbs/verbs.h"

static void print_root(const char *tier_home, const char *root, void *context)
{
    char size[STK_SIZE_TEXT], origin[4096];
    struct entries_content content;
    (void)context;
    progress_begin_counting("counting", entries_passed);
    entries_measure(tier_home, root, &content);
    progress_end();
    entries_origin(tier_home, root, origin, sizeof origin);
    say_line(stdout, "  %10" PRIu64 " %-5s %11s  %s", content.files,
             plural(content.files, "file", "files"), size_text(size, content.bytes),
             *origin != '\0' ? origin : root);
}

/* Prints the sample stores, of all pid namespaces. */
static void print_samples(const char *tier_home)
{
    char path[STK_HOME_BYTES + 16], size[STK_SIZE_TEXT];
    int64_t blocks, inodes;
    snprintf(path, sizeof path, "%s/" STK_SAMPLES_DIRECTORY, tier_home);
    if (stk_ledger_walk(path, 0, NULL, &blocks, &inodes) == 0) {
        printf("  decoded copies   %11s\n", size_text(size, (uint64_t)(blocks * STK_BLOCK_BYTES)));
    }
}

/* Prints decoded copies in a directory of the user's own. */
static void print_store(const struct known_store *store, void *context)
{
    char size[STK_SIZE_TEXT];
    say_line(stdout, "%s: %s of decoded copies, %s", store->directory,
             size_text(size, store->bytes), store->used ? "in use" : "used by no run now");
    ++*(unsigned *)context;
}

static void print_known(const struct stk_tier *tier)
{
    const struct stk_budget *budget = &tier->shared->budget;
    OWNED char *usage = usage_text(tier), *kernel = usage_kernel_text(tier);
    say_line(stdout, "%s: %s, %" PRId64 " of %" PRId64 " inodes%s", tier->home, usage,
             budget->used_inodes, budget->inodes, kernel);
}

/* Prints a tier on a disk that earlier runs have left. */
static void print_left(const struct stk_tier *tier)
{
    char used[STK_SIZE_TEXT];
    int64_t blocks, inodes;
    stk_ledger_walk(tier->home, 0, NULL, &blocks, &inodes);
    say_line(stdout, "%s: %s, %" PRId64 " inodes, used by no run now", tier->home,
             size_text(used, (uint64_t)(blocks * STK_BLOCK_BYTES)), inodes);
}

static void print_tier(struct stk_tier *tier, void *context)
{
    if (tier->shared != NULL) {
        print_known(tier);
    } else {
        print_left(tier);
    }
    entries_each_root(tier->home, print_root, NULL);
    print_samples(tier->home);
    ++*(unsigned *)context;
}

static void print_runs(const struct session *session)
{
    struct live live = live_count(session->home);
    printf("%u live %s", live.runs, plural(live.runs, "run", "runs"));
    if (live.orphans > 0) {
        printf(" (of %u the stoker was killed, and the job goes on)", live.orphans);
    }
    uint32_t kept = atomic_load(&session->catalogue.header->kept);
    printf("%s\n", kept == STK_KEPT_NOT ? ""
                   : kept == STK_KEPT   ? "; the cache stays until `stoker clear`"
                                        : "; the cache was made for a run of root's");
}

int verb_ls(char **arguments)
{
    static struct session session;
    const char *tier = tiers_option(&arguments);
    unsigned shown = 0;
    if (arguments[0] != NULL) {
        die("ls takes only --tier DIR; unexpected: %s", arguments[0]);
    }
    bool known = session_look(&session);
    const struct tiers tiers = {.catalogue = known ? &session.catalogue : NULL, .only = tier};
    tiers_each(&tiers, print_tier, &shown);
    if (tier == NULL) {
        stores_each(print_store, &shown);
    }
    if (shown == 0 && tier != NULL) {
        say_line(stdout, "nothing is cached in %s", tier);
    } else if (known) {
        print_runs(&session);
    } else if (shown == 0) {
        printf("nothing is cached\n");
    }
    return 0;
}
