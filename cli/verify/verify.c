#include "cli/verify/verify.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/samples.h"
#include "base/text.h"
#include "base/walk.h"
#include "cache/big/blocks.h"
#include "cache/origin/entry_name.h"
#include "cli/args/covered_paths.h"
#include "cli/fill/progress.h"
#include "cli/os/descriptors.h"
#include "cli/out/say.h"
#include "cli/tiers/entries.h"
#include "cli/tiers/known_tiers.h"
#include "cli/verify/compare_queue.h"
#include "cli/verify/findings.h"
#include "cli/verify/forms_check.h"
#include "cli/verify/wanted.h"

/* ---- what is known of it ---- */

/* A list that ends with NULL. */
struct name_list {
    char **names;
    size_t count;
};

static void add_name(struct name_list *names, const char *name)
{
    names->names = must_resize(names->names, (names->count + 2) * sizeof *names->names);
    names->names[names->count++] = must_copy(name);
    names->names[names->count] = NULL;
}

static struct verifying {
    struct wanted wanted;
    struct stk_cache cache; /* of the present tier and root */
    bool counting;          /* true: copies are only counted, not compared */
    uint64_t all, left;     /* existing copies; of those, the ones not passed yet */
    uint64_t chosen, to_choose;
    uint64_t turn, seed;
    struct name_list roots, stores; /* origins of entries in tiers; sample stores */

    pthread_mutex_t lock; /* of the figures for the line of progress */
    int64_t began_ns;
    struct findings found;
} verifying = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void read_figures(struct fill_figures *out)
{
    *out = (struct fill_figures){.whole = true};
    pthread_mutex_lock(&verifying.lock);
    out->found = verifying.counting ? verifying.all : verifying.chosen;
    out->seconds_ns = verifying.counting ? 0 : stk_clock_boottime_ns() - verifying.began_ns;
    pthread_mutex_unlock(&verifying.lock);
    compare_queue_read(&out->done, &out->present_bytes);
}

/* ---- which ones ---- */

/* Chooses a copy that came after the copies were counted, if all of those are compared. */
static bool is_chosen_late(void)
{
    bool chosen = verifying.chosen == verifying.all && verifying.chosen < verifying.wanted.sample;
    pthread_mutex_lock(&verifying.lock);
    verifying.all += chosen;
    verifying.chosen += chosen;
    pthread_mutex_unlock(&verifying.lock);
    return chosen;
}

/* Chooses as many of the remaining copies as are still wanted, each with the same chance. */
static bool is_chosen(void)
{
    if (verifying.left == 0) {
        return is_chosen_late();
    }
    uint64_t word = ++verifying.turn;
    uint64_t left = verifying.left--;
    bool chosen = stk_hash_64(&word, sizeof word, verifying.seed) % left < verifying.to_choose;
    verifying.to_choose -= chosen;
    return chosen;
}

static void meet(enum findings_kind kind, const char *copy, const char *origin)
{
    if (!wanted_has(&verifying.wanted, origin)) {
        return;
    }
    if (verifying.counting) {
        pthread_mutex_lock(&verifying.lock);
        verifying.all++;
        pthread_mutex_unlock(&verifying.lock);
    } else if (is_chosen()) {
        compare_queue_put(kind, copy, origin);
    }
}

/* ---- entries ---- */

/* Returns true if the name is that of an entry, whatever its type. A directory mirrors one of the
 * origin's. */
static bool is_named_so(const char *name, const struct stat *stat)
{
    return !S_ISDIR(stat->st_mode) && strlen(name) > STK_ENTRY_DIGITS &&
           name[STK_ENTRY_DIGITS] == ';';
}

/* A root's directory in a tier: its path below the tree, and where its entries come from. */
struct met_root {
    const char *name;
    char origin[STK_PATH_BYTES];
};

static int meet_entry(void *context, int dirfd, const char *name, const struct stat *stat)
{
    char entry[STK_PATH_BYTES], origin[STK_PATH_BYTES];
    struct stk_entry_parts parts;
    const struct met_root *root = context;
    if (!is_named_so(name, stat) || !entries_path_of(entry, dirfd, name) ||
        !stk_entry_parse(entry, verifying.cache.tier.home, &parts) ||
        snprintf(origin, sizeof origin, "%s%s", root->origin, parts.file + strlen(root->name)) >=
            (int)sizeof origin) {
        return 0;
    }
    if (parts.listing) {
        *strrchr(origin, '/') = '\0';
    }
    meet(parts.listing ? FINDINGS_LISTING : FINDINGS_ENTRY, entry, origin);
    return 0;
}

static void resolve(const char *origin)
{
    OWNED char *list = paths_quote(origin);
    memset(&verifying.cache.roots, 0, sizeof verifying.cache.roots);
    stk_roots_spell(&verifying.cache.roots, list);
    stk_roots_resolve(&verifying.cache.roots);
}

static void note_closed(int error)
{
    verifying.found.closed += error < 0 && error != -ENOENT && !verifying.counting;
}

static void visit_root(const char *tier_home, const char *root, void *context)
{
    char path[STK_PATH_BYTES];
    struct met_root met = {.name = root};
    (void)context;
    entries_origin(tier_home, root, met.origin, sizeof met.origin);
    if (snprintf(path, sizeof path, "%s/tree/%s", tier_home, root) >= (int)sizeof path) {
        return;
    }
    if (!verifying.counting) {
        resolve(met.origin);
    } else {
        add_name(&verifying.roots, met.origin);
    }
    note_closed(stk_walk(path, meet_entry, &met));
    compare_queue_wait();
}

/* ---- blocks ---- */

/* Meets a block table, which says by ROOT//BELOW to which file it belongs. */
static void meet_table(const char *name)
{
    struct stk_big_blocks blocks;
    if (stk_big_blocks_look(&blocks, &verifying.cache, name) != 0) {
        return;
    }
    OWNED char *told = must_copy(blocks.table->origin);
    stk_big_blocks_close(&blocks);
    const char *below = stk_big_blocks_below(told);
    if (below != NULL) {
        OWNED char *root = must_format("%.*s", (int)(below - told) - 2, told);
        OWNED char *origin = must_format("%s/%s", root, below);
        if (!verifying.counting) {
            compare_queue_wait();
            resolve(root);
        }
        meet(FINDINGS_BLOCKS, name, origin);
    }
}

static void visit_tables(void)
{
    char path[STK_HOME_BYTES + 8];
    const char *catalogue = verifying.cache.catalogue.file.path;
    const char *leaf = stk_path_leaf(catalogue);
    struct dirent *entry;
    snprintf(path, sizeof path, "%.*sbig", (int)(leaf - catalogue), catalogue);
    OWNED_DIR DIR *tables = opendir(path);
    note_closed(tables == NULL ? -errno : 0);
    while (tables != NULL && (entry = readdir(tables)) != NULL) {
        meet_table(entry->d_name);
    }
    compare_queue_wait();
}

/* ---- forms ---- */

static void note_store(const char *home)
{
    OWNED char *place = must_format("%s/" STK_SAMPLES_DIRECTORY, home);
    if (verifying.counting && access(place, F_OK) == 0) {
        OWNED char *samples = must_format("%s:0", place);
        add_name(&verifying.stores, samples);
    }
}

/* Adds the store that the environment names, unless it is a tier's. */
static void note_named_store(void)
{
    const char *samples = stk_option_value(STK_OPTION_SAMPLES);
    bool known = samples == NULL || samples[0] != '/' || verifying.wanted.tier != NULL;
    for (size_t i = 0; i < verifying.stores.count && !known; i++) {
        const char *store = verifying.stores.names[i];
        known = strncmp(samples, store, (size_t)(strrchr(store, ':') - store) + 1) == 0;
    }
    if (!known) {
        add_name(&verifying.stores, samples);
    }
}

static void note_form(const char *path)
{
    if (path != NULL) {
        struct compared compared = {.what = "that is kept decoded is another image's",
                                    .dropped = true};
        stk_text_copy(compared.origin, sizeof compared.origin, path);
        findings_note_difference(&verifying.found, &compared);
    }
}

/* Checks the forms of the named files, or of all files with entries in tiers. */
static void check_forms(void)
{
    struct wanted *wanted = &verifying.wanted;
    note_named_store();
    const struct forms_wanted forms = {
        .share = wanted->part >= 0      ? wanted->part
                 : verifying.all == 0   ? 1
                 : verifying.chosen > 0 ? (double)verifying.chosen / (double)verifying.all
                                        : 0,
        .paths = wanted->count > 0 ? wanted->paths : verifying.roots.names,
        .seed = verifying.seed};
    for (size_t i = 0; i < verifying.stores.count && forms.paths != NULL; i++) {
        const char *store = verifying.stores.names[i];
        bool checked = forms_check(store, &forms, &verifying.found.forms, note_form);
        verifying.found.unchecked = verifying.found.unchecked || !checked;
    }
}

/* ---- all of it ---- */

static void visit_tier(struct stk_tier *tier, void *context)
{
    char path[STK_HOME_BYTES + 8];
    (void)context;
    verifying.cache.tier = *tier;
    snprintf(path, sizeof path, "%s/tree", tier->home);
    note_closed(access(path, R_OK | X_OK) == 0 ? 0 : -errno);
    note_store(tier->home);
    entries_each_root(tier->home, visit_root, NULL);
    if (tier->shared != NULL) {
        visit_tables();
    }
}

static void visit_all(void)
{
    struct stk_catalogue *catalogue = &verifying.cache.catalogue;
    const struct tiers tiers = {.catalogue = catalogue->header != NULL ? catalogue : NULL,
                                .only = verifying.wanted.tier};
    tiers_each(&tiers, visit_tier, NULL);
}

static void choose(void)
{
    const struct wanted *wanted = &verifying.wanted;
    double part = wanted->part * (double)verifying.all;
    uint64_t many =
        wanted->part < 0 ? wanted->sample : (uint64_t)part + (part > (double)(uint64_t)part);
    verifying.chosen = many < verifying.all ? many : verifying.all;
    verifying.to_choose = verifying.chosen;
    verifying.left = verifying.all;
    verifying.seed = (uint64_t)stk_clock_realtime_ns() ^ (uint64_t)getpid() << 40;
}

static void begin_comparing(void)
{
    pthread_mutex_lock(&verifying.lock);
    choose();
    verifying.began_ns = stk_clock_boottime_ns();
    verifying.counting = false;
    pthread_mutex_unlock(&verifying.lock);
}

static void verify(void)
{
    compare_queue_begin(&verifying.cache, &verifying.found);
    verifying.counting = true;
    progress_begin(read_figures);
    visit_all();
    begin_comparing();
    visit_all();
    progress_end();
    compare_queue_end();
    check_forms();
    verifying.found.none = verifying.all == 0;
    verifying.found.passed_over = verifying.all - verifying.chosen;
}

/* Skips a file in the place of the user's own home. */
static void check_tier(const char *directory)
{
    char home[STK_HOME_BYTES], *canonical = realpath(directory, NULL);
    int error = canonical != NULL && stk_home_path(home, canonical) ? stk_home_check(home) : 0;
    if (error != 0 && error != -ENOENT) {
        die("--tier %s: %s is not a directory of yours alone (%s): remove it", directory, home,
            error == -EPERM      ? "somebody else's"
            : error == -ENOTUNIQ ? "others can write to it"
                                 : strerror(-error));
    }
    free(canonical);
}

int verb_verify(char **arguments)
{
    char home[STK_HOME_BYTES];
    wanted_parse(&verifying.wanted, arguments);
    if (verifying.wanted.tier != NULL) {
        check_tier(verifying.wanted.tier);
    }
    stk_options_read(&verifying.cache.options);
    if (stk_home_find_existing(home) == 0) {
        stk_catalogue_open(&verifying.cache.catalogue, home, false);
    }
    verify();
    findings_print(&verifying.found);
    if (verifying.wanted.json != NULL) {
        findings_write_json(&verifying.found, verifying.wanted.json);
    }
    return findings_status(&verifying.found);
}
