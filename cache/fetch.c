/* A fill by a shared tier, and what is left to be put there. See cache/fill.h, cache/errand.h. */
#include "cache/fill.h"

#include "base/sys.h"
#include "base/text.h"
#include "cache/errand.h"

static struct stk_errands *errands_of(const struct stk_fill *fill)
{
    return stk_run_errands(&fill->cache->run);
}

/* Other nodes find it by its root's name, if that tells the volume, and the file is on it. */
static bool find_name(struct stk_fill *fill)
{
    const struct stk_place *place = fill->place;
    bool named = place->root->lasting && fill->identity->dev == place->root->dev &&
                 stk_errand_path(fill->far_path, place->root, place->below, fill->making.name);
    return named;
}

static void wish_for(const struct stk_fill *fill, enum stk_errand_kind kind,
                     struct stk_errand_wish *wish)
{
    *wish = (struct stk_errand_wish){.kind = kind, .bytes = fill->record->size};
    wish->tier = fill->making.tier != NULL ? fill->making.tier->index : 0;
    stk_text_copy(wish->path, sizeof wish->path, fill->far_path);
}

static enum stk_errand_answer ask(struct stk_fill *fill, const struct stk_errand_wish *wish)
{
    return stk_errand_ask(errands_of(fill), wish, &fill->record->claim, &fill->check);
}

bool stk_fill_is_far(struct stk_fill *fill)
{
    struct stk_errand_wish wish;
    if (!stk_errands_are_open(errands_of(fill)) || !find_name(fill)) {
        return false;
    }
    wish_for(fill, STK_ERRAND_LOOK, &wish);
    return ask(fill, &wish) == STK_ERRAND_YES;
}

/* Nobody has seen the draft yet, so its mode may be another for a moment. */
bool stk_fill_fetch(struct stk_fill *fill, const struct stk_entry_draft *draft)
{
    struct stk_errand_wish wish;
    wish_for(fill, STK_ERRAND_FETCH, &wish);
    wish.dev = draft->dev;
    wish.ino = draft->ino;
    if (!stk_text_copy(wish.draft, sizeof wish.draft, stk_path_leaf(draft->path)) ||
        stk_sys_chmod(draft->path, 0600) != 0) {
        return false;
    }
    enum stk_errand_answer answer = ask(fill, &wish);
    fill->damaged = answer == STK_ERRAND_DAMAGED;
    return answer == STK_ERRAND_YES && stk_sys_chmod(draft->path, STK_ENTRY_MODE) == 0;
}

void stk_fill_publish(struct stk_fill *fill, bool copied)
{
    struct stk_errand_wish wish;
    struct stk_errands *errands = errands_of(fill);
    if (!fill->fetched && stk_errands_are_open(errands) && find_name(fill)) {
        wish_for(fill, STK_ERRAND_PUBLISH, &wish);
        wish.ino = fill->making.ino;
        wish.repairs = fill->damaged;
        if (!stk_errand_put(errands, &wish) && copied) {
            stk_errands_count(errands, STK_ERRANDS_LEFT, 1);
        }
    }
}
