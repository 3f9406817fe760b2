/* `stoker ls`: what is cached, where, and who is running. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/samples.h"
#include "base/walk.h"
#include "cli/holding.h"
#include "cli/live.h"
#include "cli/say.h"
#include "cli/session.h"
#include "cli/tiers.h"
#include "cli/tree.h"
#include "cli/verbs.h"

static void print_root(const char *tier_home, const char *root, void *context)
{
    char size[STK_SIZE_TEXT], origin[4096];
    struct tree_content content;
    (void)context;
    tree_measure(tier_home, root, &content);
    tree_origin(tier_home, root, origin, sizeof origin);
    say_line(stdout, "  %10" PRIu64 " files %11s  %s", content.files,
             size_text(size, content.bytes), *origin != '\0' ? origin : root);
}

/* The sample stores, of all pid namespaces. */
static void print_samples(const char *tier_home)
{
    char path[STK_HOME_BYTES + 16], size[STK_SIZE_TEXT];
    int64_t blocks, inodes;
    snprintf(path, sizeof path, "%s/" STK_SAMPLES_ROOM, tier_home);
    if (stk_account_walk(path, 0, NULL, &blocks, &inodes) == 0) {
        printf("  samples          %11s\n", size_text(size, (uint64_t)(blocks * STK_BLOCK_BYTES)));
    }
}

static void print_known(const struct stk_tier *tier)
{
    const struct stk_budget *budget = &tier->shared->budget;
    char *holding = holding_text(tier);
    say_line(stdout, "%s: %s, %" PRId64 " of %" PRId64 " inodes", tier->home, holding,
             budget->used_inodes, budget->inodes);
    free(holding);
}

/* One that earlier runs have left on a disk. */
static void print_left(const struct stk_tier *tier)
{
    char used[STK_SIZE_TEXT];
    int64_t blocks, inodes;
    stk_account_walk(tier->home, 0, NULL, &blocks, &inodes);
    say_line(stdout, "%s: %s used, %" PRId64 " inodes, by no run now", tier->home,
             size_text(used, (uint64_t)(blocks * STK_BLOCK_BYTES)), inodes);
}

static void print_tier(struct stk_tier *tier, void *context)
{
    if (tier->shared != NULL) {
        print_known(tier);
    } else {
        print_left(tier);
    }
    tree_each_root(tier->home, print_root, NULL);
    print_samples(tier->home);
    ++*(unsigned *)context;
}

static void print_runs(const struct session *session)
{
    struct live live = live_count(session->home);
    printf("%u live run%s", live.runs, live.runs == 1 ? "" : "s");
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
    if (known) {
        print_runs(&session);
    } else if (shown == 0) {
        printf("nothing is cached\n");
    }
    return 0;
}
