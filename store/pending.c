#include "store/pending.h"

#include <stdlib.h>
#include <string.h>

static bool same_key(struct stk_hash128 a, struct stk_hash128 b)
{
    return a.low == b.low && a.high == b.high;
}

bool stk_pending_has(const struct stk_pending *pending, struct stk_hash128 key)
{
    const struct stk_pending_value *one = pending->values;
    while (one != NULL && !same_key(one->key, key)) {
        one = one->next;
    }
    return one != NULL;
}

bool stk_pending_keep(struct stk_pending *pending, const struct stk_pending_value *named,
                      const void *body)
{
    size_t bytes = named->head.bytes;
    if (bytes > STK_STORE_PENDING_BYTES || pending->bytes + bytes > STK_STORE_PENDING_BYTES) {
        return false;
    }
    struct stk_pending_value *one = malloc(sizeof *one + bytes);
    if (one == NULL) {
        return false;
    }
    *one =
        (struct stk_pending_value){.next = pending->values, .key = named->key, .head = named->head};
    memcpy(one->body, body, bytes);
    pending->values = one;
    pending->bytes += bytes;
    return true;
}

struct stk_pending_link *stk_pending_find_link(struct stk_pending *pending, struct stk_hash128 from)
{
    unsigned count = atomic_load(&pending->link_count);
    for (unsigned i = 0; i < count; i++) {
        if (same_key(pending->links[i].from, from)) {
            return &pending->links[i];
        }
    }
    return NULL;
}

bool stk_pending_link(struct stk_pending *pending, const struct stk_pending_link *link)
{
    struct stk_pending_link *same = stk_pending_find_link(pending, link->from);
    unsigned count = atomic_load(&pending->link_count);
    if (same != NULL) {
        *same = *link;
    } else if (count < STK_STORE_PENDING_LINKS) {
        pending->links[count] = *link;
        atomic_store(&pending->link_count, count + 1);
    }
    return same != NULL || count < STK_STORE_PENDING_LINKS;
}

unsigned stk_pending_drop(struct stk_pending *pending)
{
    unsigned count = 0;
    for (; pending->values != NULL; count++) {
        struct stk_pending_value *one = pending->values;
        pending->values = one->next;
        free(one);
    }
    pending->bytes = 0;
    atomic_store(&pending->link_count, 0);
    return count;
}
