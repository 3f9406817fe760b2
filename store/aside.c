/* What is kept aside. See store/aside.h. */
#include "store/aside.h"

#include <stdlib.h>
#include <string.h>

static bool same_key(struct stk_hash128 a, struct stk_hash128 b)
{
    return a.low == b.low && a.high == b.high;
}

bool stk_aside_has(const struct stk_aside *aside, struct stk_hash128 key)
{
    const struct stk_aside_value *one = aside->values;
    while (one != NULL && !same_key(one->key, key)) {
        one = one->next;
    }
    return one != NULL;
}

bool stk_aside_keep(struct stk_aside *aside, const struct stk_aside_value *named, const void *body)
{
    size_t bytes = named->head.bytes;
    if (bytes > STK_STORE_ASIDE_BYTES || aside->bytes + bytes > STK_STORE_ASIDE_BYTES) {
        return false;
    }
    struct stk_aside_value *one = malloc(sizeof *one + bytes);
    if (one == NULL) {
        return false;
    }
    *one = (struct stk_aside_value){.next = aside->values, .key = named->key, .head = named->head};
    memcpy(one->body, body, bytes);
    aside->values = one;
    aside->bytes += bytes;
    return true;
}

struct stk_aside_link *stk_aside_find_link(struct stk_aside *aside, struct stk_hash128 from)
{
    unsigned count = atomic_load(&aside->link_count);
    for (unsigned i = 0; i < count; i++) {
        if (same_key(aside->links[i].from, from)) {
            return &aside->links[i];
        }
    }
    return NULL;
}

bool stk_aside_link(struct stk_aside *aside, const struct stk_aside_link *link)
{
    struct stk_aside_link *same = stk_aside_find_link(aside, link->from);
    unsigned count = atomic_load(&aside->link_count);
    if (same != NULL) {
        *same = *link;
    } else if (count < STK_STORE_ASIDE_LINKS) {
        aside->links[count] = *link;
        atomic_store(&aside->link_count, count + 1);
    }
    return same != NULL || count < STK_STORE_ASIDE_LINKS;
}

unsigned stk_aside_drop(struct stk_aside *aside)
{
    unsigned count = 0;
    for (; aside->values != NULL; count++) {
        struct stk_aside_value *one = aside->values;
        aside->values = one->next;
        free(one);
    }
    aside->bytes = 0;
    atomic_store(&aside->link_count, 0);
    return count;
}
