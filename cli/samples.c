/* The sample store of a run. See cli/samples.h. */
#include "cli/samples.h"

#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/samples.h"
#include "base/text.h"
#include "cache/pressure.h"
#include "cli/refusal.h"
#include "cli/say.h"

/* What a store takes besides what it counts: the table of readers, directories. */
#define BESIDES_BLOCKS ((INT64_C(512) << 10) / STK_BLOCK_BYTES)

#define LAST_BLOCKS ((INT64_C(4) << 20) / STK_BLOCK_BYTES)

/* ---- figures ---- */

static int64_t granted_blocks(const struct samples *samples)
{
    return samples->grant != NULL ? atomic_load(&samples->grant->blocks) : 0;
}

/* The catalogue may be damaged: never more than the tier has. */
uint64_t samples_budget_bytes(const struct samples *samples)
{
    int64_t blocks = granted_blocks(samples),
            whole = samples->grant != NULL ? samples->tier->shared->budget.blocks : 0;
    blocks = (blocks < whole ? blocks : whole) - BESIDES_BLOCKS;
    return blocks > 0 ? (uint64_t)blocks * STK_BLOCK_BYTES : 0;
}

uint64_t samples_used_bytes(const struct samples *samples)
{
    return samples->grant != NULL ? (uint64_t)stk_grant_used_blocks(samples->tier) * STK_BLOCK_BYTES
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
        stk_grant_raise(samples->tier, samples->grant, blocks);
    }
}

static void tell(const struct samples *samples, uint64_t budget_bytes)
{
    const struct stk_tally_grant grant = {budget_bytes, samples->at_first_touch};
    if (samples->tally != NULL) {
        stk_tally_grant(samples->tally, samples->setting, &grant);
    }
}

/* Never more than a quarter of what is left, and not the last: entries want room, too, and the
 * catalogue to know them. */
static int64_t next_step(const struct samples *samples)
{
    int64_t step = stk_grant_step_blocks(samples->tier) + BESIDES_BLOCKS;
    int64_t share = (stk_budget_left(&samples->tier->shared->budget) - LAST_BLOCKS) / 4;
    step = step < share ? step : share;
    return granted_blocks(samples) + step > 2 * BESIDES_BLOCKS ? step : 0;
}

/* What is left to be wanted when as much was granted as there is: entries whose forms are kept make
 * room for it (cache/drop.h). */
static void want(struct samples *samples, int64_t blocks)
{
    int64_t room = samples->most_blocks - granted_blocks(samples);
    stk_grant_want(samples->grant, blocks < room ? blocks : room);
}

/* Memory of a tmpfs that was not used yet is taken back while it is short. */
static void look(struct samples *samples, bool asked)
{
    int64_t used = stk_grant_used_blocks(samples->tier);
    int64_t step = stk_grant_step_blocks(samples->tier);
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
    tell(samples, short_of_memory && now < budget ? now : budget);
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
        refusal_tell(request, REFUSAL_PART,
                     "--samples %s is more than the tier's budget of %s: name a smaller size, a "
                     "larger tier (--tier DIR:SIZE), or a directory of its own (--samples "
                     "DIR:SIZE)",
                     request->samples, size_text(size, (uint64_t)(whole * STK_BLOCK_BYTES)));
        samples->most_blocks = whole;
    }
    raise_by(samples, samples->most_blocks);
    uint64_t budget = samples_budget_bytes(samples);
    if (fits && budget < (uint64_t)request->samples_bytes / STK_BLOCK_BYTES * STK_BLOCK_BYTES) {
        say("--samples %s: only %s of the tier's budget are left", request->samples,
            size_text(size, budget));
    }
}

static void begin_ours(struct samples *samples, const struct request *request)
{
    samples->grant = stk_grant_find(samples->tier);
    if (samples->grant == NULL || (samples->tally == NULL && request->samples_bytes < 0)) {
        samples->grant = NULL;
        return;
    }
    samples->most_blocks = INT64_MAX;
    samples->at_first_touch = true;
    if (request->samples_bytes >= 0) {
        reserve_all(samples, request);
    }
    uint64_t budget = request->samples_bytes >= 0 ? samples_budget_bytes(samples) : 0;
    samples->setting = must_format("%s/" STK_SAMPLES_ROOM ":%llu", samples->tier->home,
                                   (unsigned long long)budget);
    tell(samples, samples_budget_bytes(samples));
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
