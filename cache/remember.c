/* Putting identities into the catalogue. See cache/remember.h. */
#include "cache/remember.h"

#include "cache/drop.h"

#define ATTEMPTS 8 /* each failure means that another process was faster with the same file */

/* A sealed record with this identity, absent and untrusted, which nobody can find yet. */
static uint32_t draft_record(struct stk_cache *cache, const struct stk_place *place,
                             const struct stk_identity *identity)
{
    uint32_t number = stk_catalogue_allocate(&cache->catalogue, place->key);
    struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    if (record == NULL) {
        return 0;
    }
    uint64_t name = stk_identity_name(identity, place->root->inode_counts, place->root->dev);
    stk_record_set_identity(record, identity, name);
    atomic_store_explicit(&record->claim,
                          stk_claim_pack((struct stk_claim){.state = STK_ABSENT, .sealed = true}),
                          memory_order_release);
    return number;
}

static bool supersede(struct stk_cache *cache, const struct stk_place *place, uint32_t older,
                      uint32_t newer)
{
    struct stk_record *from = stk_catalogue_record(&cache->catalogue, older);
    struct stk_record *to = stk_catalogue_record(&cache->catalogue, newer);
    to->previous = older;
    if (!stk_catalogue_replace(&cache->catalogue, place->key, older, newer)) {
        return false;
    }
    if (stk_record_name(from) == stk_record_name(to)) {
        stk_drop_claim(from); /* only blocks or links are new: it is the new record's entry now */
    } else {
        stk_drop_version(cache, place, older);
    }
    return true;
}

uint32_t stk_remember(struct stk_cache *cache, const struct stk_place *place,
                      const struct stk_identity *identity)
{
    uint32_t mine = 0;
    for (int i = 0; i < ATTEMPTS; i++) {
        uint32_t found = stk_catalogue_find(&cache->catalogue, place->key);
        const struct stk_record *record = stk_catalogue_record(&cache->catalogue, found);
        if (record != NULL && stk_claim_load(&record->claim).sealed &&
            stk_record_describes(record, identity)) {
            return found;
        }
        mine = mine != 0 ? mine : draft_record(cache, place, identity);
        if (mine == 0) {
            return 0;
        }
        bool placed = record != NULL
                          ? supersede(cache, place, found, mine)
                          : stk_catalogue_insert(&cache->catalogue, place->key, mine) == mine;
        if (placed) {
            return mine;
        }
    }
    return 0;
}
