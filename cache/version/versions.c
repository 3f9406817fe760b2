#include "cache/version/versions.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/sys.h"
#include "base/volume.h"
#include "cache/cache.h"
#include "cache/origin/entry_name.h"
#include "cache/version/drop.h"

#define ATTEMPTS 8 /* each failure means that another process was faster with the same file */

static bool look_at_volume(int fd, uint64_t dev, uint64_t *volume)
{
    struct stat stat;
    struct statfs fs;
    if (stk_sys_fstat(fd, &stat) != 0 || stat.st_dev != dev || stk_sys_fstatfs(fd, &fs) != 0) {
        return false;
    }
    *volume = stk_volume_of_fd(fd, &fs);
    return true;
}

static bool find_volume(const struct stk_place *place, uint64_t dev, uint64_t *volume)
{
    STK_OWNED_FD int fd = stk_sys_openat(place->dirfd, place->path, O_PATH | O_CLOEXEC, 0);
    return fd >= 0 && look_at_volume(fd, dev, volume);
}

struct version {
    uint64_t name;
    bool inode_counts;
};

/* The root's name stands for its own volume only. A file on another device (behind a link, or a
 * mount that is no root of its own) is a version of that volume, since the device's number will be
 * given to others. */
static bool name_version(const struct stk_place *place, const struct stk_identity *identity,
                         struct version *out)
{
    uint64_t volume = 0;
    bool is_beyond = identity->dev != place->root->dev;
    if (is_beyond && !find_volume(place, identity->dev, &volume)) {
        return false;
    }
    out->inode_counts = is_beyond || place->root->inode_counts;
    out->name = stk_identity_name(identity, out->inode_counts, volume);
    return true;
}

static bool name_entry_in(const char *home, const struct stk_place *place,
                          const struct stk_identity *identity, char out[STK_PATH_BYTES])
{
    struct version version;
    return name_version(place, identity, &version) &&
           stk_entry_path(out, home, place->root, place->below, version.name);
}

bool stk_cache_name_entry(const struct stk_cache *cache, const struct stk_place *place,
                          const struct stk_identity *identity, char out[STK_PATH_BYTES])
{
    return name_entry_in(cache->tier.home, place, identity, out);
}

bool stk_cache_has_entry(const struct stk_cache *cache, const struct stk_place *place,
                         const struct stk_identity *identity)
{
    char entry[STK_PATH_BYTES];
    bool has = false;
    for (unsigned i = 0; i < STK_TIERS && cache->tiers[i].home[0] != '\0' && !has; i++) {
        has = name_entry_in(cache->tiers[i].home, place, identity, entry) &&
              stk_sys_faccessat(AT_FDCWD, entry, F_OK) == 0;
    }
    return has;
}

/* Returns a new record with this identity, absent and not validated, which the index does not show
 * yet. */
static uint32_t draft_record(struct stk_cache *cache, const struct stk_place *place,
                             const struct stk_identity *identity, const struct version *version)
{
    uint32_t number = stk_catalogue_allocate(&cache->catalogue, place->key);
    struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    if (record == NULL) {
        return 0;
    }
    stk_record_set_identity(record, identity, version->name, version->inode_counts);
    return number;
}

/* Gives a draft back that is not in the index: a file that is refused at each open must not take a
 * record at each. */
static void discard_draft(struct stk_cache *cache, uint32_t draft)
{
    if (draft != 0) {
        stk_catalogue_give_back(&cache->catalogue, draft);
    }
}

static bool supersede(struct stk_cache *cache, const struct stk_place *place, uint32_t older,
                      uint32_t newer)
{
    struct stk_record *from = stk_catalogue_record(&cache->catalogue, older);
    struct stk_record *to = stk_catalogue_record(&cache->catalogue, newer);
    bool same = stk_record_name(from) == stk_record_name(to);
    to->previous = older;
    if (same) {
        stk_run_take_over_opens(&cache->run, older, newer);
    }
    if (!stk_catalogue_replace(&cache->catalogue, place->key, older, newer)) {
        return false;
    }
    if (same) {
        stk_drop_claim(from); /* only blocks or links are new: it is the new record's entry now */
    } else {
        stk_drop_version(cache, place, older);
    }
    return true;
}

uint32_t stk_versions_remember(struct stk_cache *cache, const struct stk_place *place,
                               const struct stk_identity *identity)
{
    uint32_t mine = 0;
    struct version version;
    if (!name_version(place, identity, &version)) {
        return 0;
    }
    for (int i = 0; i < ATTEMPTS; i++) {
        uint32_t found = stk_catalogue_find(&cache->catalogue, place->key);
        struct stk_record *record = stk_catalogue_record(&cache->catalogue, found);
        if (record != NULL && stk_record_name(record) == version.name &&
            stk_record_describes(record, identity)) {
            stk_record_set_inode(record, identity->ino);
            discard_draft(cache, mine);
            return found;
        }
        mine = mine != 0 ? mine : draft_record(cache, place, identity, &version);
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
    discard_draft(cache, mine);
    return 0;
}
