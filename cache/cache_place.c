#include "cache/cache_place.h"

#include <string.h>

#include "base/clock.h"
#include "cache/catalogue/changes.h"

/* A root that is spelled through links is looked at again after links or directories have changed:
 * what lies behind its spelling may be another directory now, whose files are not this root's. */
static bool is_retargeted(struct stk_cache *cache, struct stk_root *root)
{
    if (!root->linked || cache->catalogue.header == NULL) {
        return false;
    }
    int64_t changed_ns = stk_changes_last(&cache->catalogue, STK_CHANGES_EVERYTHING).changed_ns;
    if (changed_ns >= atomic_load(&root->seen_ns)) {
        int64_t now_ns = stk_clock_boottime_ns();
        atomic_store(&root->retargeted, !stk_root_is_there(root));
        atomic_store(&root->seen_ns, now_ns);
    }
    return atomic_load(&root->retargeted);
}

/* The root of a path, if it can be answered for. */
static const struct stk_root *find_root(struct stk_cache *cache, const char *absolute,
                                        const char **rest)
{
    const struct stk_root *root = stk_roots_match(&cache->roots, absolute, rest);
    bool usable = root != NULL && root->usable && !atomic_load(&cache->roots.lost) &&
                  !is_retargeted(cache, &cache->roots.roots[root - cache->roots.roots]);
    return usable ? root : NULL;
}

bool stk_cache_place(struct stk_cache *cache, const char *absolute, int dirfd, const char *path,
                     struct stk_place *place)
{
    const char *rest;
    const struct stk_root *root = find_root(cache, absolute, &rest);
    if (root == NULL) {
        return false;
    }
    place->root = root;
    long length = stk_path_fold(rest, place->below, sizeof place->below);
    if (length < 0) {
        return false;
    }
    place->dirfd = dirfd;
    place->path = path;
    place->key = stk_hash_path(place->below, (size_t)length, place->root->key);
    return true;
}

struct stk_hash128 stk_listing_key(const struct stk_root *root, const char *below, size_t length)
{
    struct stk_hash128 key = stk_hash_path(below, length, root->key);
    key.low ^= STK_LISTING_FORM; /* no file's */
    return key;
}

/* Cuts the slashes and dots off the end of a path below a root; its length then. */
static size_t cut_end(char *below, size_t length)
{
    while (length > 0 &&
           (below[length - 1] == '/' ||
            (below[length - 1] == '.' && (length == 1 || below[length - 2] == '/')))) {
        length--;
    }
    below[length] = '\0';
    return length;
}

bool stk_cache_place_directory(struct stk_cache *cache, const char *absolute, int dirfd,
                               const char *path, struct stk_place *place)
{
    const char *rest;
    const struct stk_root *root = find_root(cache, absolute, &rest);
    size_t length = root != NULL ? strlen(rest) : 0;
    if (root == NULL || root->only != NULL || length >= sizeof place->below) {
        return false;
    }
    memmove(place->below, rest, length);
    length = cut_end(place->below, length);
    if (length > 0) {
        long folded = stk_path_fold(place->below, place->below, sizeof place->below - 1);
        if (folded < 0) {
            return false;
        }
        length = (size_t)folded;
        place->below[length++] = '/';
        place->below[length] = '\0';
    }
    place->root = root;
    place->dirfd = dirfd;
    place->path = path;
    place->key = stk_listing_key(root, place->below, length > 0 ? length - 1 : 0);
    return true;
}
