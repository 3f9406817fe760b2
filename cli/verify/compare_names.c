#include "cli/verify/compare_names.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "cache/listing/listing_parts.h"
#include "cli/out/say.h"

static int by_name(const void *a, const void *b)
{
    const struct stk_listing_name *const *one = a, *const *other = b;
    return strcmp((*one)->name, (*other)->name);
}

/* Returns all names, sorted. The caller frees. */
static const struct stk_listing_name **sort(const struct stk_listing *listing, size_t *count)
{
    size_t offset = sizeof(struct stk_listing_head), room = 0;
    const struct stk_listing_name *name, **names = NULL;
    *count = 0;
    while ((name = stk_listing_at(listing, &offset)) != NULL) {
        if (*count == room) {
            room = 2 * room + 64;
            names = must_resize(names, room * sizeof *names);
        }
        names[(*count)++] = name;
    }
    if (*count > 0) {
        qsort(names, *count, sizeof *names, by_name);
    }
    return names;
}

/* Returns true if both have the same name and type. Some file systems do not know the type of every
 * name. */
static bool are_alike(const struct stk_listing_name *a, const struct stk_listing_name *b)
{
    return strcmp(a->name, b->name) == 0 &&
           (a->type == b->type || a->type == DT_UNKNOWN || b->type == DT_UNKNOWN);
}

static bool have_same(const struct stk_listing *a, const struct stk_listing *b)
{
    size_t count, others;
    OWNED const struct stk_listing_name **ours = sort(a, &count);
    OWNED const struct stk_listing_name **theirs = sort(b, &others);
    bool same = count == others;
    for (size_t i = 0; i < count && same; i++) {
        same = are_alike(ours[i], theirs[i]);
    }
    return same;
}

enum names names_compare(const struct stk_listing *listing, int fd)
{
    struct stk_listing now = {.map = NULL};
    enum names result = NAMES_UNREADABLE;
    if (stk_listing_read(&now, fd, NULL)) {
        result = have_same(listing, &now) ? NAMES_SAME : NAMES_DIFFER;
    }
    stk_listing_close(&now);
    return result;
}
