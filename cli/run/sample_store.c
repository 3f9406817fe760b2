#include "cli/run/sample_store.h"

#include "base/samples.h"
#include "cache/tier/pressure.h"
#include "cli/args/refusal.h"
#include "cli/out/say.h"

/* Room that a store takes beside the samples that it counts: the table of readers, directories. */
#define BESIDES_BLOCKS ((INT64_C(512) << 10) / STK_BLOCK_BYTES)

#define LAST_BLOCKS ((INT64_C(4) << 20) / STK_BLOCK_BYTES)

/* ---- figures ---- */

static int64_t granted_blocks(const struct samples *samples)
{
    return samples->quota != NULL ? atomic_load(&samples->quota->blocks) : 0;
}

/* Returns at most the tier's budget: the catalogue may be damaged. */
uint64_t samples_budget_bytes(const struct samples *samples)
{
    int64_t blocks = granted_blocks(samples),
            whole = samples->quota != NULL ? samples->tier->shared->budget.blocks : 0;
    blocks = (blocks < whole ? blocks : whole) - BESIDES_BLOCKS;
    return blocks > 0 ? (uint64_t)blocks * STK_BLOCK_BYTES : 0;
}

uint64_t samples_used_bytes(const struct samples *samples)
{
    return samples->quota != NULL
               ? (uint64_t)stk_sample_quota_used_blocks(samples->tier) * STK_BLOCK_BYTES
               : 0;
}

double samples_saved_s(const struct stk_tally *tally)
{
    double bytes = (double)stk_tally_read(tally, STK_TALLY_JPEG_BYTES);
    double without = bytes > 0 ? (double)stk_tally_read(tally, STK_TALLY_JPEG_NS) / bytes *
                                     (double)stk_tally_read(tally, STK_TALLY_FORM_JPEG_BYTES)
                               : 0;
    double saved = without - (double)stk_tally_read(tally, STK_TALLY_FORM_NS);
    return saved > 0 ? saved / 1e9 : 0;
}

/* ---- granting ---- */

static void raise_by(struct samples *samples, int64_t blocks)
{
    int64_t room = samples->most_blocks - granted_blocks(samples);
    blocks = blocks < room ? blocks : room;
    if (blocks > 0) {
        stk_sample_quota_raise(samples->tier, samples->quota, blocks);
    }
}

static void publish(const struct samples *samples, uint64_t budget_bytes)
{
    if (samples->tally != NULL) {
        stk_tally_grant(samples->tally, samples->setting, budget_bytes);
    }
}

/* Returns at most a quarter of what is left, and never the last of it: entries want room, too, and
 * so does the catalogue. */
static int64_t next_step(const struct samples *samples)
{
    int64_t step = stk_sample_quota_step_blocks(samples->tier) + BESIDES_BLOCKS;
    int64_t share = (stk_budget_left(&samples->tier->shared->budget) - LAST_BLOCKS) / 4;
    step = step < share ? step : share;
    return granted_blocks(samples) + step > 2 * BESIDES_BLOCKS ? step : 0;
}

/* Notes how many blocks the store wants beyond those granted, up to its limit. Entries whose forms
 * are kept make room for them (cache/version/drop.h). */
static void want(struct samples *samples, int64_t blocks)
{
    int64_t room = samples->most_blocks - granted_blocks(samples);
    stk_sample_quota_want(samples->quota, blocks < room ? blocks : room);
}

/* Takes back unused memory of a tmpfs while memory is short. */
static void look(struct samples *samples, bool asked)
{
    int64_t used = stk_sample_quota_used_blocks(samples->tier);
    int64_t step = stk_sample_quota_step_blocks(samples->tier);
    bool short_of_memory =
        samples->tier->shared->memory != 0 &&
        (stk_pressure_is_on(samples->tier) || !stk_pressure_admits(samples->tier, 0));
    bool wanted = (asked || used > 0) && !short_of_memory;
    if (wanted && granted_blocks(samples) - used < step) {
        raise_by(samples, next_step(samples));
    }
    want(samples, wanted ? step - (granted_blocks(samples) - used) : 0);
    uint64_t budget = samples_budget_bytes(samples);
    uint64_t now = used > BESIDES_BLOCKS ? (uint64_t)(used - BESIDES_BLOCKS) * STK_BLOCK_BYTES : 0;
    publish(samples, short_of_memory && now < budget ? now : budget);
}

bool samples_look(struct samples *samples, bool asked)
{
    int64_t before = granted_blocks(samples);
    look(samples, asked);
    return granted_blocks(samples) != before;
}

/* ---- beginning ---- */

static void reserve_all(struct samples *samples, const struct request *request)
{
    char size[STK_SIZE_TEXT];
    int64_t whole = samples->tier->shared->budget.blocks;
    samples->most_blocks = request->samples_bytes / STK_BLOCK_BYTES + BESIDES_BLOCKS;
    bool fits = samples->most_blocks <= whole;
    if (!fits) {
        refusal_report(request, REFUSAL_PART,
                       "--decoded %s is more than the tier's budget of %s: name a smaller size, a "
                       "larger tier (--tier DIR:SIZE), or a directory of its own (--decoded "
                       "DIR:SIZE)",
                       request->samples, size_text(size, (uint64_t)(whole * STK_BLOCK_BYTES)));
        samples->most_blocks = whole;
    }
    raise_by(samples, samples->most_blocks);
    uint64_t budget = samples_budget_bytes(samples);
    if (fits && budget < (uint64_t)request->samples_bytes / STK_BLOCK_BYTES * STK_BLOCK_BYTES) {
        say("--decoded %s: only %s of the tier's budget are left; a larger tier (--tier DIR:SIZE) "
            "gives more",
            request->samples, size_text(size, budget));
    }
}

static void begin_ours(struct samples *samples, const struct request *request)
{
    samples->quota = stk_sample_quota_find(samples->tier);
    if (samples->quota == NULL || (samples->tally == NULL && request->samples_bytes < 0)) {
        samples->quota = NULL;
        return;
    }
    samples->most_blocks = INT64_MAX;
    if (request->samples_bytes >= 0) {
        reserve_all(samples, request);
    }
    uint64_t budget = request->samples_bytes >= 0 ? samples_budget_bytes(samples) : 0;
    samples->setting = must_format("%s/" STK_SAMPLES_DIRECTORY ":%llu", samples->tier->home,
                                   (unsigned long long)budget);
    publish(samples, samples_budget_bytes(samples));
}

void samples_begin(struct samples *samples, const struct request *request, struct stk_tier *tier,
                   struct stk_tally *tally)
{
    *samples = (struct samples){.tier = tier, .tally = tally};
    switch (request->samples_kind) {
    case SAMPLES_OURS:
        begin_ours(samples, request);
        break;
    case SAMPLES_NAMED:
        samples->setting = must_copy(request->samples);
        break;
    case SAMPLES_AS_SET:
        break;
    }
}
