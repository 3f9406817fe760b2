/* Answers for names that a listing lacks. See cache/listing/listing.h. */
#include "cache/listing/listing_parts.h"

#include <fcntl.h>
#include <string.h>

#include "base/clock.h"
#include "base/sys.h"
#include "base/text.h"
#include "cache/version/freshness.h"

/* in a larger listing a search takes as long as a question */
#define LOOK_BYTES (256 << 10)
#define LOOK_NS    STK_NS_PER_S

/* Returns true if one name may find the other: a file system may ignore the case of letters. */
static bool is_alike(const char *a, const char *b)
{
    for (; *a != '\0' || *b != '\0'; a++, b++) {
        int small_a = *a >= 'A' && *a <= 'Z' ? *a + 'a' - 'A' : *a;
        int small_b = *b >= 'A' && *b <= 'Z' ? *b + 'a' - 'A' : *b;
        if (small_a != small_b) {
            return false;
        }
    }
    return true;
}

/* Names that may be there without being listed begin with a dot (.snapshot, .zfs); other alphabets
 * have rules of their own. */
static bool is_plain(const char *name)
{
    if (*name == '.' || *name == '\0') {
        return false;
    }
    for (const char *at = name; *at != '\0'; at++) {
        if ((unsigned char)*at >= 0x80) {
            return false;
        }
    }
    return true;
}

static bool lacks(const struct stk_listing *listing, const char *leaf)
{
    size_t at = 0;
    const struct stk_listing_name *name;
    while ((name = stk_listing_at(listing, &at)) != NULL) {
        if (is_alike(name->name, leaf)) {
            return false;
        }
    }
    return true;
}

/* Apart for its stack. */
static __attribute__((noinline)) bool validate_anew(struct stk_cache *cache,
                                                    struct stk_place *directory, uint32_t number)
{
    char path[STK_PATH_BYTES];
    directory->dirfd = AT_FDCWD;
    directory->path = path;
    bool same =
        stk_text_print(path, sizeof path, "%s/%s", directory->root->prefix, directory->below) &&
        stk_listing_validate(cache, directory, number);
    directory->path = NULL; /* its text ends here */
    return same;
}

/* A look that is not as old as that, or one now. */
static bool is_recent(struct stk_cache *cache, struct stk_place *directory, uint32_t number)
{
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    int64_t age_ns = stk_clock_boottime_ns() - atomic_load(&record->validated_ns);
    return age_ns < LOOK_NS || validate_anew(cache, directory, number);
}

/* A user who may list a directory may still be denied a look-up in it, which is another error. */
static bool is_searchable(const struct stk_record *record)
{
    return (record->mode & 0111) == 0111 ||
           (record->uid == stk_sys_geteuid() && (record->mode & 0100) != 0);
}

static bool lacks_in(struct stk_cache *cache, struct stk_place *directory, const char *leaf)
{
    struct stk_listing listing;
    uint32_t number = stk_catalogue_find(&cache->catalogue, directory->key);
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    if (record == NULL || stk_claim_load(&record->claim).state != STK_PRESENT ||
        stk_freshness_of(cache, record) != STK_FRESHNESS_FRESH || !is_searchable(record) ||
        !stk_listing_serve(cache, directory, number, LOOK_BYTES, &listing)) {
        return false;
    }
    bool absent = lacks(&listing, leaf);
    stk_listing_close(&listing);
    return absent && is_recent(cache, directory, number);
}

/* The directory in which the leaf of a place lies. */
static void take_directory(struct stk_place *directory, const struct stk_place *place,
                           const char *leaf)
{
    size_t length = (size_t)(leaf - place->below);
    directory->root = place->root;
    directory->key = stk_listing_key(place->root, place->below, length > 0 ? length - 1 : 0);
    memcpy(directory->below, place->below, length);
    directory->below[length] = '\0';
}

/* Apart for its stack. */
__attribute__((noinline)) bool stk_listing_lacks(struct stk_cache *cache,
                                                 const struct stk_place *place)
{
    struct stk_place directory;
    const struct stk_root *root = place->root;
    const char *leaf = stk_path_leaf(place->below);
    if (!stk_listing_may(cache, place) || root->only != NULL || !is_plain(leaf) ||
        !(root->kind == STK_ROOT_SERVER || cache->options.listings == STK_LISTINGS_MTIME)) {
        return false;
    }
    take_directory(&directory, place, leaf);
    return lacks_in(cache, &directory, leaf);
}
