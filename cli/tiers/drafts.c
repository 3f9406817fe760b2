#include "cli/tiers/drafts.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/proc.h"
#include "base/walk.h"
#include "cache/big/blocks.h"
#include "cache/entry/draft.h"
#include "cli/os/descriptors.h"

#define FOREIGN_DRAFT_S 3600

/* Returns true if the catalogue has a block table for the version with which a block file's name
 * begins. */
static bool has_table(const char *home, const char *name)
{
    char path[STK_HOME_BYTES + 8];
    struct dirent *entry;
    bool found = false;
    snprintf(path, sizeof path, "%s/big", home);
    OWNED_DIR DIR *tables = opendir(path);
    while (tables != NULL && !found && (entry = readdir(tables)) != NULL) {
        found = strlen(entry->d_name) > STK_BIG_BLOCKS_KEY_DIGITS + STK_ENTRY_DIGITS &&
                strncmp(entry->d_name + STK_BIG_BLOCKS_KEY_DIGITS, name, STK_ENTRY_DIGITS) == 0;
    }
    return found;
}

/* Returns true if a process that cannot be asked had time enough to write to the file. */
static bool is_left(const struct stat *stat_)
{
    time_t now = time(NULL), up = (time_t)(stk_clock_boottime_ns() / STK_NS_PER_S);
    return stat_->st_mtime < now - FOREIGN_DRAFT_S || stat_->st_mtime < now - up;
}

/* Returns true if no process writes to the draft any more. Its name has the filler's pid namespace
 * and pid. In another namespace the pid means nothing here: such a filler has an hour between two
 * writes, and so has another catalogue that knows the blocks. */
static bool is_dead_draft(const char *home, const char *name, const struct stat *stat_)
{
    uint64_t namespace, pid;
    if (stk_entry_parse_draft(name, &namespace, &pid) && namespace == stk_proc_pid_namespace()) {
        return stk_proc_is_over((pid_t)pid);
    }
    return is_left(stat_) && !(stk_entry_looks_like(name, stat_) && has_table(home, name));
}

/* Returns true for a file with blocks that this catalogue knows. */
static bool is_ours(const char *home, const char *name, const struct stat *stat_)
{
    return stk_entry_looks_like(name, stat_) && has_table(home, name);
}

typedef bool draft_judge(const char *home, const char *name, const struct stat *stat_);

struct drafts_removal {
    const char *home;
    const struct stk_tier *tier;
    draft_judge *is_to_go;
};

static int remove_one(void *context, int dirfd, const char *name, const struct stat *stat_)
{
    const struct drafts_removal *removal = context;
    if (S_ISREG(stat_->st_mode) && removal->is_to_go(removal->home, name, stat_) &&
        unlinkat(dirfd, name, 0) == 0) {
        stk_tier_free(removal->tier->shared, stat_->st_blocks, 1);
    }
    return 0;
}

static void remove_drafts(const char *home, const struct stk_tier *tier, draft_judge *is_to_go)
{
    char path[STK_HOME_BYTES + 8];
    snprintf(path, sizeof path, "%s/fill", tier->home);
    stk_walk_within(path, remove_one, &(struct drafts_removal){home, tier, is_to_go});
}

void drafts_remove_dead(const char *home, const struct stk_tier *tier)
{
    remove_drafts(home, tier, is_dead_draft);
}

void drafts_remove_known(const char *home, const struct stk_tier *tier)
{
    remove_drafts(home, tier, is_ours);
}
