/* `stoker clear [--tier DIR] [PATH] [--dead]`: removes the whole cache, the entries of a path, or
 * leftovers. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "cache/catalogue/budget.h"
#include "cache/origin/root.h"
#include "cli/args/covered_paths.h"
#include "cli/fill/progress.h"
#include "cli/out/sanitise.h"
#include "cli/out/say.h"
#include "cli/out/shell_quote.h"
#include "cli/run/removal.h"
#include "cli/run/session.h"
#include "cli/tiers/entries.h"
#include "cli/tiers/known_stores.h"
#include "cli/tiers/known_tiers.h"
#include "cli/verbs/verbs.h"

struct removal {
    const struct stk_tier *tier;
    const char *path;
    const struct stk_roots *roots; /* what leads to the path; NULL: it is not there */
    uint64_t files;
};

static void remove_from_root(const char *tier_home, const char *root, void *context)
{
    struct removal *removal = context;
    (void)tier_home;
    removal->files += entries_remove(removal->tier, root, removal->path);
}

static void remove_from_tier(struct stk_tier *tier, void *context)
{
    struct removal *removal = context;
    removal->tier = tier;
    entries_each_root(tier->home, remove_from_root, removal);
    for (unsigned i = 0; removal->roots != NULL && i < removal->roots->count; i++) {
        const struct stk_root *root = &removal->roots->roots[i];
        const char *below = root->only != NULL ? root->only : "";
        removal->files += root->usable ? entries_remove_place(tier, root->name, below) : 0;
    }
    entries_remove_blocks(tier);
}

/* Removes entries, which is safe at any time: a process that has one open goes on reading it, and
 * the next open fills anew. Returns how many there were. */
static uint64_t remove_entries(const char *path, const struct stk_roots *roots, const char *tier)
{
    static struct session session;
    struct removal removal = {.path = path, .roots = roots, .files = 0};
    bool known = session_look(&session);
    const struct tiers tiers = {.catalogue = known ? &session.catalogue : NULL, .only = tier};
    tiers_each(&tiers, remove_from_tier, &removal);
    return removal.files;
}

/* The directories of decoded copies that go. */
struct clearing {
    const char *below; /* their path is this one, or below it */
    unsigned count;
};

/* Removes one directory's decoded copies, unless a process uses them. */
static void clear_store(const struct known_store *store, void *context)
{
    char size[STK_SIZE_TEXT];
    struct clearing *clearing = context;
    if (!stk_path_is_below(store->directory, clearing->below)) {
        return;
    }
    uint64_t bytes = stores_remove(store->directory);
    if (bytes > 0) {
        say_line(stdout, "removed %s of decoded copies: %s", size_text(size, bytes),
                 store->directory);
        clearing->count++;
    }
    if (store->used) {
        say_line(stdout, "%s: its decoded copies are in use, and stay", store->directory);
    }
}

/* Names decoded copies that lie outside of the only tier that is cleared, and what removes them. */
static void name_store(const struct known_store *store, void *context)
{
    char size[STK_SIZE_TEXT];
    const struct clearing *clearing = context;
    if (!stk_path_is_below(store->directory, clearing->below)) {
        OWNED char *word = shell_quote(store->directory);
        say_line(stdout, "%s of decoded copies stay in %s: stoker clear %s removes them",
                 size_text(size, store->bytes), store->directory, word);
    }
}

/* Removes the decoded copies that go with the tier in this directory, or, without one, all. */
static unsigned clear_stores(const char *tier)
{
    OWNED char *canonical = tier != NULL ? realpath(tier, NULL) : must_copy("/");
    struct clearing stores = {.below = canonical != NULL ? canonical : tier};
    stores_each(clear_store, &stores);
    stores_each(name_store, &stores);
    return stores.count;
}

/* Finds out where a path lies: its entries may have been made by another path that leads there. */
static const struct stk_roots *resolve(const char *path)
{
    static struct stk_roots roots;
    OWNED char *list = paths_quote(path);
    stk_roots_spell(&roots, list);
    stk_roots_resolve(&roots);
    return &roots;
}

static int clear_path(const char *path, const char *tier)
{
    OWNED char *canonical = realpath(path, NULL);
    const char *full = canonical != NULL ? canonical : path;
    if (full[0] != '/') {
        die("clear %s: no such file or directory: name a data set's path", path);
    }
    const struct stk_roots *roots = canonical != NULL ? resolve(canonical) : NULL;
    struct clearing stores = {.below = full};
    progress_begin_counting("removing", entries_passed);
    uint64_t files = remove_entries(full, roots, tier);
    progress_end();
    stores_each(clear_store, &stores);
    if (files > 0) {
        say_line(stdout, "removed %" PRIu64 " cached %s of %s", files,
                 plural(files, "file", "files"), full);
    } else if (stores.count == 0) {
        say_line(stdout, "nothing is cached of %s", full);
    }
    return 0;
}

/* Removes entries beside programs that run without `stoker run`. The catalogue stays: with a new
 * one these programs would not learn what other processes change. */
static int clear_beside_users(const char *tier)
{
    progress_begin_counting("removing", entries_passed);
    uint64_t files = remove_entries("/", NULL, tier);
    progress_end();
    printf("removed %" PRIu64
           " cached %s; the index of the cache stays, as programs that run without "
           "`stoker run` are using it\n",
           files, plural(files, "file", "files"));
    return 0;
}

static int clear_dead(void)
{
    printf(removal_sweep() ? "removed what dead runs left\n" : "no dead runs\n");
    return 0;
}

static char *gone_text; /* a line for each home that went */

/* Keeps the line for the time when no progress is shown. */
static void tell_home(const struct removed_home *gone)
{
    char size[STK_SIZE_TEXT];
    OWNED char *line =
        must_format("removed %s, " COUNTED ": %s", size_text(size, gone->blocks * STK_BLOCK_BYTES),
                    COUNT_OF(gone->files, "file", "files"), gone->home);
    gone_text = must_append(gone_text, "%s\n", sanitise_line(line));
}

static int clear_all(const char *tier)
{
    gone_text = must_copy("");
    progress_begin_counting("removing", removal_files);
    struct removed_homes removal = removal_remove_all(tier, tell_home);
    progress_end();
    fputs(gone_text, stdout);
    free(gone_text);
    if (removal.live > 0) {
        die("%u live run%s the cache: wait for the end, or name a PATH to clear", removal.live,
            plural(removal.live, " uses", "s use"));
    }
    if (removal.used) {
        return clear_beside_users(tier);
    }
    if (removal.failed > 0) {
        die_with(1,
                 "not all could be removed, as files came meanwhile: stop what uses the cache, and "
                 "clear again");
    }
    if (removal.homes + clear_stores(tier) == 0) {
        printf("nothing is cached\n");
    }
    return 0;
}

int verb_clear(char **arguments)
{
    const char *tier = tiers_option(&arguments);
    if (arguments[0] == NULL) {
        return clear_all(tier);
    }
    bool dead = strcmp(arguments[0], "--dead") == 0;
    if (arguments[0][0] == '-' && !dead) {
        die_of_option(arguments[0], "");
    }
    if (arguments[1] != NULL) {
        die("clear takes one PATH or --dead; unexpected: %s", arguments[1]);
    }
    return dead ? clear_dead() : clear_path(arguments[0], tier);
}
