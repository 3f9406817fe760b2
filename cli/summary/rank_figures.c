#include "cli/summary/rank_figures.h"

#include <stdlib.h>

#include "cli/out/say.h"
#include "cli/out/summary_lines.h"
#include "cli/summary/metrics.h"

#define MOST        (2 * STK_RANKS) /* the run and its tally may have seen different ones first */
#define MARKED_S    1.0
#define MARKED_PART 0.10 /* of the time of its passes */

struct rank {
    int rank;
    struct stk_run_counts counts;
    uint64_t opens[STK_COUNT_KINDS]; /* of all epochs */
    bool has_opens, has_passes;
    struct stk_tally_rank passes;
};

struct ranks {
    unsigned count;
    unsigned seen[2]; /* rows that are taken, in the run and in its tally */
    struct rank all[MOST];
};

static struct rank *find(struct ranks *ranks, int rank)
{
    for (unsigned i = 0; i < ranks->count; i++) {
        if (ranks->all[i].rank == rank) {
            return &ranks->all[i];
        }
    }
    struct rank *new = &ranks->all[ranks->count++];
    *new = (struct rank){.rank = rank};
    return new;
}

static int by_rank(const void *one, const void *other)
{
    int a = ((const struct rank *)one)->rank, b = ((const struct rank *)other)->rank;
    return (a > b) - (a < b);
}

static int by_waited(const void *one, const void *other)
{
    uint64_t a = ((const struct rank *)one)->passes.waited_ns;
    uint64_t b = ((const struct rank *)other)->passes.waited_ns;
    return (a > b) - (a < b);
}

static void add_opens(uint64_t sums[STK_COUNT_KINDS], const struct stk_run_counts *counts)
{
    for (unsigned epoch = 0; epoch < STK_RUN_EPOCHS; epoch++) {
        for (unsigned kind = 0; kind < STK_COUNT_KINDS; kind++) {
            sums[kind] += counts->epochs[epoch][kind];
        }
    }
}

/* Gathers what ranks have opened. A shell or launcher that opened nothing is none. */
static void gather_opens(struct ranks *ranks, const struct stk_run *run)
{
    for (unsigned row = 0; row < STK_RANKS; row++) {
        struct rank rank = {.rank = STK_RANK_NONE};
        rank.rank = stk_run_read_rank(run, row, &rank.counts);
        ranks->seen[0] += rank.rank != STK_RANK_NONE;
        add_opens(rank.opens, &rank.counts);
        if (rank.opens[STK_COUNT_OPENS] > 0 || rank.counts.blocks[STK_BLOCK_READS] > 0) {
            rank.has_opens = true;
            ranks->all[ranks->count++] = rank;
        }
    }
}

static void gather_passes(struct ranks *ranks, const struct stk_tally *tally)
{
    for (unsigned row = 0; row < STK_RANKS; row++) {
        struct stk_tally_rank passes;
        int rank = stk_tally_read_rank(tally, row, &passes);
        if (rank != STK_RANK_NONE) {
            struct rank *found = find(ranks, rank);
            found->passes = passes;
            found->has_passes = true;
            ranks->seen[1]++;
        }
    }
}

/* Leaves out ranks of which only one half was counted. Where all rows are taken, the other half may
 * have found none. */
static void drop_halves(struct ranks *ranks)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < ranks->count; i++) {
        const struct rank *rank = &ranks->all[i];
        if (rank->has_opens && rank->has_passes) {
            ranks->all[kept++] = *rank;
        }
    }
    ranks->count = kept;
}

static void gather(struct ranks *ranks, const struct session *session)
{
    ranks->count = ranks->seen[0] = ranks->seen[1] = 0;
    gather_opens(ranks, &session->run);
    gather_passes(ranks, session->tally);
    bool all_taken = ranks->seen[0] == STK_RANKS || ranks->seen[1] == STK_RANKS;
    if (session->run.file != NULL && all_taken) {
        drop_halves(ranks);
    }
}

static void write_one(struct json *json, const struct rank *rank, bool with_opens)
{
    const struct figures figures = {.counts = &rank->counts};
    json_object(json, NULL);
    json_integer(json, "rank", rank->rank);
    json_count(json, "samples", rank->passes.samples);
    json_count(json, "batches", rank->passes.batches);
    json_seconds(json, "seconds", rank->passes.lasted_ns);
    json_seconds(json, "waited_s", rank->passes.waited_ns);
    if (with_opens) {
        metrics_write_epoch(json, rank->opens);
        metrics_write_object(json, "blocks", METRIC_BLOCKS, &figures);
    }
    json_end(json);
}

void rank_figures_write_json(struct json *json, const struct session *session)
{
    struct ranks ranks;
    gather(&ranks, session);
    if (ranks.count < 2) {
        return;
    }
    qsort(ranks.all, ranks.count, sizeof ranks.all[0], by_rank);
    json_list(json, "ranks");
    for (unsigned i = 0; i < ranks.count; i++) {
        write_one(json, &ranks.all[i], session->run.file != NULL);
    }
    json_end(json);
}

struct longest {
    int rank;
    unsigned ranks;
    double waited_s, usual_s, lasted_s; /* usual: the median of all ranks */
};

/* Finds the rank that waited longest. The median of two ranks is that of the other one. Returns
 * false if there are fewer than two. */
static bool find_longest(struct longest *longest, const struct session *session)
{
    struct ranks ranks;
    gather(&ranks, session);
    if (ranks.count < 2) {
        return false;
    }
    qsort(ranks.all, ranks.count, sizeof ranks.all[0], by_waited);
    const struct rank *last = &ranks.all[ranks.count - 1];
    const struct rank *usual = &ranks.all[(ranks.count - 1) / 2];
    *longest = (struct longest){.rank = last->rank,
                                .ranks = ranks.count,
                                .waited_s = (double)last->passes.waited_ns / 1e9,
                                .usual_s = (double)usual->passes.waited_ns / 1e9,
                                .lasted_s = (double)last->passes.lasted_ns / 1e9};
    return true;
}

void rank_figures_add_line(const struct session *session)
{
    struct longest longest;
    if (!find_longest(&longest, session)) {
        return;
    }
    double more_s = longest.waited_s - longest.usual_s;
    if (more_s >= MARKED_S && more_s >= MARKED_PART * longest.lasted_s) {
        lines_add(TIMES, "  rank %d waited longest for data: %.1f s (median of %u ranks: %.1f s)",
                  longest.rank, longest.waited_s, longest.ranks, longest.usual_s);
    }
}

char *rank_figures_text(const struct session *session)
{
    struct longest longest;
    if (!find_longest(&longest, session)) {
        return NULL;
    }
    return must_format("%u; rank %d waited longest for data, %.1f s (median %.1f s)", longest.ranks,
                       longest.rank, longest.waited_s, longest.usual_s);
}
