#include "cli/summary/forecast.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/options.h"
#include "base/path.h"
#include "base/walk.h"
#include "cli/history/sizes.h"
#include "cli/out/say.h"
#include "cli/tiers/entries.h"
#include "cli/tiers/usage.h"

#define LOOK_NS (STK_NS_PER_S / 2)
/* For a single tier, which most runs have. */
#define BRIEF_NS (STK_NS_PER_S / 10)

#define PAGE_BYTES 4096

/* ---- what is covered ---- */

/* A look at the covered files. It skips links, which lead anywhere, and empty files, which are not
 * cached. */
struct looking {
    struct forecast_look *look;
    int64_t until_ns, max_file_bytes;
};

static int look_at(void *context, int dirfd, const char *name, const struct stat *stat)
{
    const struct looking *looking = context;
    struct forecast_look *look = looking->look;
    (void)dirfd;
    (void)name;
    if (S_ISREG(stat->st_mode) && stat->st_size > 0) {
        look->files++;
        look->bytes += (uint64_t)stat->st_size;
        look->big = look->big || stat->st_size > looking->max_file_bytes;
        look->blocks += stk_budget_blocks_of((uint64_t)stat->st_size, PAGE_BYTES);
    }
    look->cut = stk_clock_boottime_ns() > looking->until_ns;
    return look->cut;
}

static void look_for(const struct request *request, int64_t most_ns, struct forecast_look *look)
{
    *look = (struct forecast_look){.files = 0};
    struct stk_options options;
    stk_options_read(&options);
    struct looking looking = {look, stk_clock_boottime_ns() + most_ns, options.max_file_bytes};
    for (unsigned i = 0; i < request->count && !look->cut; i++) {
        stk_walk(request->canonical[i], look_at, &looking);
    }
}

void forecast_look(const struct request *request, struct forecast_look *look)
{
    look_for(request, LOOK_NS, look);
}

/* ---- what there is room for ---- */

struct kept {
    const struct request *request;
    bool any;
};

static void look_at_root(const char *tier_home, const char *root, void *context)
{
    char origin[4096];
    struct kept *kept = context;
    const struct request *request = kept->request;
    entries_origin(tier_home, root, origin, sizeof origin);
    for (unsigned i = 0; i < request->count && *origin != '\0'; i++) {
        const char *covered = request->canonical[i];
        kept->any =
            kept->any || stk_path_is_below(origin, covered) || stk_path_is_below(covered, origin);
    }
}

/* Returns how many blocks entries can have in a tier, or have. */
static int64_t room_of(const struct session *session, const struct stk_tier *tier,
                       const struct request *request)
{
    struct kept kept = {request, false};
    int64_t left = stk_budget_left(&tier->shared->budget);
    int64_t index = tier->shared->pays ? stk_catalogue_charged(&session->catalogue) : 0;
    entries_each_root(tier->home, look_at_root, &kept);
    int64_t used = (int64_t)(usage_of(tier).used_bytes / STK_BLOCK_BYTES) - index;
    return left + (kept.any && used > 0 ? used : 0);
}

static int64_t room_of_all(const struct session *session, const struct request *request)
{
    int64_t blocks = 0;
    for (unsigned i = 0; i < session->tier_count; i++) {
        blocks += room_of(session, &session->tiers[i], request);
    }
    return blocks;
}

/* Returns the same once the files are known. The index grows in one of the tiers, until that is
 * full. */
static int64_t room_in_the_end(const struct session *session, const struct stk_tier *tier,
                               const struct request *request, const struct forecast_look *look)
{
    int64_t room = room_of(session, tier, request);
    double part = look->blocks > 0 ? (double)room / (double)look->blocks : 0;
    int64_t files = (int64_t)((double)look->files * (part < 1 ? part : 1));
    int64_t left =
        tier->shared->pays ? room - stk_catalogue_growth(&session->catalogue, files) : room;
    return left > 0 ? left : 0;
}

/* ---- before the run ---- */

static void say_tiers_behind(const struct session *session)
{
    char size[STK_SIZE_TEXT];
    for (unsigned i = 1; i < session->tier_count; i++) {
        const struct stk_budget *budget = &session->tiers[i].shared->budget;
        say("then in %s, at most %s", session->tiers[i].home,
            size_text(size, (uint64_t)(budget->blocks * STK_BLOCK_BYTES)));
    }
}

/* Returns how many files the index can know once the files are cached: the others are asked for at
 * each open, and are in no tier. */
static uint64_t known_files(const struct request *request, const struct session *session,
                            const struct forecast_look *look)
{
    int64_t spare = 0;
    for (unsigned i = 0; i < session->tier_count; i++) {
        const struct stk_tier *tier = &session->tiers[i];
        if (tier->shared->pays && room_of(session, tier, request) > look->blocks) {
            spare = room_of(session, tier, request) - look->blocks;
        }
    }
    return (uint64_t)stk_catalogue_capacity(&session->catalogue, spare);
}

/* Returns "40% of its opens from A, 30% from B, 30% from P itself", or that of its bytes if there
 * are big files. The caller frees. */
static char *shares_text(const struct request *request, const struct session *session,
                         const struct forecast_look *look)
{
    char *text = must_copy("");
    int64_t rest = look->blocks;
    for (unsigned i = 0; i < session->tier_count && rest > 0; i++) {
        int64_t room = room_in_the_end(session, &session->tiers[i], request, look);
        int64_t part = room < rest ? room : rest;
        rest -= part;
        const char *whole = look->big ? " of its bytes" : " of its opens";
        text = must_append(text, "%s%.0f%%%s from %s", i > 0 ? ", " : "about ",
                           percent((double)part, (double)look->blocks), i > 0 ? "" : whole,
                           session->tiers[i].home);
    }
    if (rest > 0) {
        text = must_append(text, ", %.0f%% from %s itself",
                           percent((double)rest, (double)look->blocks),
                           request->count > 1 ? "the originals" : request->spelled[0]);
    }
    return text;
}

static void say_shares(const struct request *request, const struct session *session,
                       const struct forecast_look *look)
{
    uint64_t known = known_files(request, session, look);
    char size[STK_SIZE_TEXT], room[STK_SIZE_TEXT];
    if (look->files > known) {
        say("the index of the cache, in %s, has room for about %" PRIu64 " of the %s%" PRIu64
            " files: each open of the others asks storage. A larger tier there has room for all",
            session->home, known, look->cut ? "more than " : "", look->files);
    } else if (look->cut) {
        say("the data set holds at least %s in %" PRIu64
            " files (after a short look); there is room for %s",
            size_text(size, look->bytes), look->files,
            size_text(room, (uint64_t)room_of_all(session, request) * STK_BLOCK_BYTES));
    } else if (look->files > 0) {
        OWNED char *shares = shares_text(request, session, look);
        say("%s %s in " COUNTED ": once filled, %s",
            look->of_run ? "the last run opened" : "the data set holds",
            size_text(size, look->bytes), COUNT_OF(look->files, "file", "files"), shares);
    }
}

static bool is_at_hand(const struct request *request)
{
    bool is = true;
    for (unsigned i = 0; i < request->count; i++) {
        is = is && request->at_hand[i];
    }
    return is;
}

/* Takes the size that the last run opened. On average, half of a file's last page is empty. */
static void recall(const struct request *request, struct forecast_look *look)
{
    struct sizes sizes;
    if (sizes_recall(request, &sizes)) {
        uint64_t whole = sizes.bytes + sizes.files * PAGE_BYTES / 2;
        *look = (struct forecast_look){.files = sizes.files,
                                       .bytes = sizes.bytes,
                                       .blocks = (int64_t)(whole / STK_BLOCK_BYTES),
                                       .of_run = true};
    }
}

/* Says for a single tier only if not all files fit. */
static void say_if_too_much(const struct request *request, const struct session *session)
{
    struct forecast_look look = {.cut = true};
    if (is_at_hand(request)) {
        look_for(request, BRIEF_NS, &look);
    }
    if (look.cut) {
        recall(request, &look);
    }
    if (look.blocks > room_in_the_end(session, &session->tier, request, &look) ||
        look.files > known_files(request, session, &look)) {
        say_shares(request, session, &look);
    }
}

void forecast_announce(const struct request *request, const struct session *session)
{
    struct forecast_look look;
    say_tiers_behind(session);
    if (request->warm_only || request->files_left != NULL) {
        return;
    }
    if (session->tier_count > 1) {
        forecast_look(request, &look);
        say_shares(request, session, &look);
    } else {
        say_if_too_much(request, session);
    }
}

/* ---- after it ---- */

/* Prints the share of a single tier that was full, as the forecast did. Uses the later half of the
 * epochs: it takes some epochs until forms have replaced the images' entries. If the index did not
 * know all files, later opens of the others count as first ones. A big file is served without hits.
 * In both cases the share is not known. */
static void print_share(FILE *out, const struct figures *figures)
{
    uint64_t opens = 0, served = 0;
    for (unsigned epoch = figures->opened > 3 ? figures->opened / 2 : 1; epoch < figures->opened;
         epoch++) {
        opens += figures->counts->epochs[epoch][STK_COUNT_OPENS];
        served += figures->counts->epochs[epoch][STK_COUNT_HITS];
    }
    bool known = figures->counts->unnumbered == 0 && figures->counts->blocks[STK_BLOCK_READS] == 0;
    if (known && opens > 0 && figures->counts->bypassed[STK_BYPASS_BUDGET] > 0) {
        say_line(out, "  once filled, %.1f%% of the opens came from %s",
                 percent((double)served, (double)opens), figures->session->tier.home);
    }
}

/* Returns " (40.0%)", or "" if big files were read, whose blocks are served without hits. The
 * caller frees. */
static char *share_text(const struct figures *figures, uint64_t served, uint64_t opens)
{
    bool known = figures->counts->blocks[STK_BLOCK_READS] == 0;
    return known ? must_format(" (%.1f%%)", percent((double)served, (double)opens)) : must_copy("");
}

void forecast_print(FILE *out, const struct figures *figures)
{
    if (figures->session->tier_count == 1) {
        print_share(out, figures);
    }
    const struct session *session = figures->session;
    uint64_t opens = figures->total[STK_COUNT_OPENS];
    for (unsigned i = 0; session->tier_count > 1 && opens > 0 && i < session->tier_count; i++) {
        const struct stk_tier *tier = &session->tiers[i];
        uint64_t served = figures->counts->tiers[tier->index % STK_TIERS];
        OWNED char *usage = usage_text(tier), *share = share_text(figures, served, opens);
        say_line(out, "  %s served " COUNTED "%s, %s", tier->home,
                 COUNT_OF(served, "open", "opens"), share, usage);
    }
}

void forecast_write_json(struct json *json, const struct session *session,
                         const struct stk_run_counts *counts)
{
    json_list(json, "tiers");
    for (unsigned i = 0; i < session->tier_count; i++) {
        const struct stk_tier *tier = &session->tiers[i];
        json_object(json, NULL);
        usage_write_json(json, tier);
        json_count(json, "hits", counts->tiers[tier->index % STK_TIERS]);
        json_end(json);
    }
    json_end(json);
}
