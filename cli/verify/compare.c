#include "cli/verify/compare.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/sys.h"
#include "base/text.h"
#include "cache/big/blocks.h"
#include "cache/listing/listing_parts.h"
#include "cache/origin/entry_name.h"
#include "cache/origin/reader.h"
#include "cache/version/drop.h"
#include "cli/fill/open_origin.h"
#include "cli/out/say.h"
#include "cli/tiers/entries.h"
#include "cli/verify/compare_names.h"

#define PIECE_BYTES (256u << 10)

/* A copy, and its original. */
struct pair {
    struct stk_cache *cache;
    struct stk_place place;
    uint64_t version; /* of the original, when the copy was made */
    int copy, origin; /* descriptors, or negative */
    uint64_t size;
};

/* ---- the origin ---- */

/* Asks for the present state, past caches. */
static bool ask(int fd, struct statx *answer)
{
    int flags = AT_EMPTY_PATH | AT_STATX_FORCE_SYNC;
    return stk_sys_statx(fd, "", flags, STATX_BASIC_STATS | STATX_BTIME, answer) == 0;
}

/* Returns COMPARE_RIGHT if the open file is the version of the copy. */
static enum compare_end look(const struct pair *pair, int fd, uint64_t *size)
{
    struct statx answer;
    struct stk_identity identity;
    struct stk_entry_parts parts;
    char entry[STK_PATH_BYTES];
    if (!ask(fd, &answer)) {
        return COMPARE_UNREADABLE;
    }
    if (!S_ISREG(answer.stx_mode) || !stk_identity_from_statx(&identity, &answer)) {
        return COMPARE_GONE;
    }
    *size = identity.size;
    bool same = stk_cache_name_entry(pair->cache, &pair->place, &identity, entry) &&
                stk_entry_parse(entry, pair->cache->tier.home, &parts) &&
                parts.name == pair->version;
    return same ? COMPARE_RIGHT : COMPARE_CHANGED;
}

static enum compare_end end_of_error(int error)
{
    bool gone = error == -ENOENT || error == -ENOTDIR || error == -ELOOP || error == -ENXIO;
    return gone ? COMPARE_GONE : COMPARE_UNREADABLE;
}

static enum compare_end open_origin(struct pair *pair)
{
    pair->origin = origin_open(pair->place.path);
    return pair->origin < 0 ? end_of_error(pair->origin) : look(pair, pair->origin, &pair->size);
}

/* Looks at the file of that name again: it may have changed while it was read. */
static enum compare_end look_again(const struct pair *pair)
{
    uint64_t size;
    STK_OWNED_FD int fd = origin_open(pair->place.path);
    if (fd < 0) {
        return end_of_error(fd);
    }
    enum compare_end end = look(pair, fd, &size);
    return end;
}

/* ---- the bytes ---- */

static size_t first_difference(const char *a, const char *b, size_t bytes)
{
    size_t same = 0;
    while (same < bytes && a[same] == b[same]) {
        same++;
    }
    return same;
}

static void differs(struct compared *out, const char *what, uint64_t at)
{
    out->end = COMPARE_DIFFERS;
    out->what = what;
    out->at = at;
}

/* Compares at most one piece. */
static void compare_piece(const struct pair *pair, char *buffers, uint64_t at, size_t bytes,
                          struct compared *out)
{
    char *theirs = buffers + PIECE_BYTES;
    ssize_t ours = stk_sys_pread_all(pair->copy, buffers, bytes, (off_t)at);
    ssize_t got = stk_sys_pread_all(pair->origin, theirs, bytes, (off_t)at);
    if (got < 0) {
        out->end = COMPARE_UNREADABLE;
    } else if ((size_t)got < bytes) {
        out->end = COMPARE_CHANGED;
    } else if (ours < 0) {
        differs(out, "cannot be read", at);
    } else if ((size_t)ours < bytes) {
        differs(out, "is cut short", at + (uint64_t)ours);
    } else if (memcmp(buffers, theirs, bytes) != 0) {
        differs(out, NULL, at + first_difference(buffers, theirs, bytes));
    }
    out->bytes += out->end == COMPARE_RIGHT ? bytes : 0;
}

static void compare_range(const struct pair *pair, char *buffers, uint64_t begin, uint64_t end,
                          struct compared *out)
{
    for (uint64_t at = begin; at < end && out->end == COMPARE_RIGHT; at += PIECE_BYTES) {
        uint64_t left = end - at;
        compare_piece(pair, buffers, at, left < PIECE_BYTES ? (size_t)left : PIECE_BYTES, out);
    }
}

/* Compares all bytes, or the blocks that are cached. */
static void compare_bytes(const struct pair *pair, const struct stk_big_blocks *blocks,
                          struct compared *out)
{
    OWNED char *buffers = must_allocate(2 * PIECE_BYTES);
    if (blocks == NULL) {
        compare_range(pair, buffers, 0, pair->size, out);
    }
    for (uint64_t i = 0; blocks != NULL && i < blocks->count && out->end == COMPARE_RIGHT; i++) {
        uint64_t begin = i * blocks->block_bytes;
        if (stk_big_blocks_is_present(blocks, i)) {
            compare_range(pair, buffers, begin, begin + stk_big_blocks_bytes_of(blocks, i), out);
        }
    }
}

/* Compares, and drops pages from memory that were not there before: the job needs the memory. */
static void compare_content(const struct pair *pair, const struct stk_big_blocks *blocks,
                            struct compared *out)
{
    struct stat stat;
    if (stk_sys_fstat(pair->origin, &stat) != 0) {
        out->end = COMPARE_UNREADABLE;
        return;
    }
    const struct stk_origin origin = {pair->origin, stat.st_dev, stat.st_ino};
    bool unread = stk_origin_is_unread(&origin, pair->size);
    compare_bytes(pair, blocks, out);
    if (unread) {
        stk_origin_forget(&origin);
    }
}

/* ---- a pair ---- */

/* Returns true if a copy of the file at this place has the name of the one that was found. */
static bool is_of_place(const struct pair *pair, const struct stk_entry_parts *parts)
{
    const char *below = stk_root_below(pair->place.root, parts->file);
    return below != NULL && strcmp(below, pair->place.below) == 0;
}

static bool find_place(struct pair *pair, struct compared *out, const char *origin)
{
    bool fits = stk_text_copy(out->origin, sizeof out->origin, origin);
    return fits && stk_cache_place(pair->cache, out->origin, AT_FDCWD, out->origin, &pair->place);
}

/* Compares an open copy. It must be as long as its version. */
static void compare_open(struct pair *pair, uint64_t copy_size, const struct stk_big_blocks *blocks,
                         struct compared *out)
{
    out->end = open_origin(pair);
    if (out->end == COMPARE_RIGHT && copy_size != pair->size) {
        differs(out, "is not as long as its original", 0);
    } else if (out->end == COMPARE_RIGHT) {
        compare_content(pair, blocks, out);
    }
    if (out->end == COMPARE_DIFFERS) {
        enum compare_end now = look_again(pair);
        out->end = now == COMPARE_RIGHT ? COMPARE_DIFFERS : now;
    }
}

static void close_pair(struct pair *pair)
{
    stk_sys_close_opened(pair->copy);
    stk_sys_close_opened(pair->origin);
}

/* ---- dropping ---- */

/* Returns true if the same file is still there, and not a newer one. */
static bool is_there(const char *path, const struct stat *seen)
{
    struct stat now;
    return stk_sys_fstatat(AT_FDCWD, path, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
           now.st_ino == seen->st_ino;
}

/* Returns the record of this entry, or 0. */
static uint32_t record_of(struct stk_cache *cache, const char *entry)
{
    char origin[STK_PATH_BYTES];
    uint32_t number = 0;
    if (!stk_cache_find_entry(cache, entry, origin, &number) || number == 0) {
        return 0;
    }
    struct stk_claim claim =
        stk_claim_load(&stk_catalogue_record(&cache->catalogue, number)->claim);
    return claim.state == STK_PRESENT && claim.tier == cache->tier.index ? number : 0;
}

static bool drop_entry(struct stk_cache *cache, const char *entry, const struct stat *seen)
{
    uint32_t record = is_there(entry, seen) ? record_of(cache, entry) : 0;
    if (record != 0) {
        stk_drop_entry(cache, record, entry);
    }
    if (is_there(entry, seen) && stk_sys_unlinkat(AT_FDCWD, entry, 0) == 0) {
        entries_give_back(&cache->tier, seen->st_blocks, 1);
    }
    return !is_there(entry, seen);
}

/* Drops blocks. With its last block the table becomes an entry, at any moment. */
static bool drop_blocks(const struct pair *pair, struct stk_big_blocks *blocks)
{
    char entry[STK_PATH_BYTES];
    struct stat seen;
    bool known = stk_sys_fstat(pair->copy, &seen) == 0;
    if (known && is_there(blocks->file, &seen) &&
        stk_sys_unlinkat(AT_FDCWD, blocks->file, 0) == 0) {
        entries_give_back(&pair->cache->tier, seen.st_blocks, 1);
    }
    stk_big_blocks_lose(blocks, pair->cache);
    bool named = stk_entry_path(entry, pair->cache->tier.home, pair->place.root, pair->place.below,
                                pair->version);
    return known && !is_there(blocks->file, &seen) &&
           (!named || !is_there(entry, &seen) || drop_entry(pair->cache, entry, &seen));
}

/* ---- entries ---- */

/* Returns what is wrong with the file, in words, or NULL. A program would open even a file that is
 * not this user's plain file. */
static const char *oddity_of(const struct stat *stat)
{
    return !S_ISREG(stat->st_mode)             ? "is no plain file"
           : stat->st_uid != stk_sys_geteuid() ? "is somebody else's"
           : (stat->st_mode & 022) != 0        ? "can be written by others"
           : stat->st_nlink > 1                ? "has a second name"
                                               : NULL;
}

/* Opens the file that was looked at, and none that has replaced it. */
static int open_copy(const char *entry, const struct stat *seen)
{
    struct stat stat;
    int fd = stk_sys_open_nolinks(entry, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && (stk_sys_fstat(fd, &stat) != 0 || stat.st_dev != seen->st_dev ||
                    stat.st_ino != seen->st_ino)) {
        stk_sys_close(fd);
        return -ENOENT;
    }
    return fd;
}

void compare_entry(struct stk_cache *cache, const char *entry, const char *origin,
                   struct compared *out)
{
    struct pair pair = {.cache = cache, .copy = -1, .origin = -1};
    struct stk_entry_parts parts;
    struct stat seen;
    *out = (struct compared){.end = COMPARE_LOST};
    bool placed = find_place(&pair, out, origin);
    if (stk_sys_fstatat(AT_FDCWD, entry, &seen, AT_SYMLINK_NOFOLLOW) != 0 ||
        !stk_entry_parse(entry, cache->tier.home, &parts)) {
        return;
    }
    pair.version = parts.name;
    const char *oddity = oddity_of(&seen);
    if (oddity != NULL) {
        differs(out, oddity, 0);
    } else if (!placed || !is_of_place(&pair, &parts)) {
        out->end = COMPARE_GONE;
    } else if ((pair.copy = open_copy(entry, &seen)) == -ENOENT) {
        return;
    } else {
        compare_open(&pair, (uint64_t)seen.st_size, NULL, out);
    }
    out->dropped = out->end == COMPARE_DIFFERS && drop_entry(cache, entry, &seen);
    close_pair(&pair);
}

/* ---- listings ---- */

/* Returns COMPARE_RIGHT if the directory is the version of the listing. */
static enum compare_end look_at_directory(const struct pair *pair, const char *entry, int fd)
{
    struct statx answer;
    struct stk_identity identity;
    char named[STK_PATH_BYTES];
    if (!ask(fd, &answer)) {
        return COMPARE_UNREADABLE;
    }
    if (!stk_listing_identify(&pair->place, &answer, &identity)) {
        return COMPARE_GONE;
    }
    bool same = stk_cache_name_entry(pair->cache, &pair->place, &identity, named) &&
                strcmp(named, entry) == 0;
    return same ? COMPARE_RIGHT : COMPARE_CHANGED;
}

/* Looks at the version before and after reading names: names that came or went in between belong to
 * another version. */
static void compare_names(const struct pair *pair, const char *entry,
                          const struct stk_listing *listing, struct compared *out)
{
    STK_OWNED_FD int fd =
        stk_sys_openat(AT_FDCWD, out->origin, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    out->end = fd < 0 ? end_of_error(fd) : look_at_directory(pair, entry, fd);
    if (out->end == COMPARE_RIGHT) {
        enum names names = names_compare(listing, fd);
        out->end =
            names == NAMES_UNREADABLE ? COMPARE_UNREADABLE : look_at_directory(pair, entry, fd);
        if (out->end == COMPARE_RIGHT && names == NAMES_DIFFER) {
            differs(out, "has other names", 0);
        }
    }
}

void compare_listing(struct stk_cache *cache, const char *entry, const char *origin,
                     struct compared *out)
{
    struct pair pair = {.cache = cache, .copy = -1, .origin = -1};
    struct stk_listing listing;
    struct stat seen;
    *out = (struct compared){.end = COMPARE_LOST};
    if (!stk_text_copy(out->origin, sizeof out->origin, origin) ||
        !stk_cache_place_directory(cache, origin, AT_FDCWD, out->origin, &pair.place)) {
        out->end = COMPARE_GONE;
        return;
    }
    if (!stk_listing_is_told_by_times(cache, &pair.place) ||
        stk_sys_fstatat(AT_FDCWD, entry, &seen, AT_SYMLINK_NOFOLLOW) != 0 ||
        stk_listing_load(entry, stk_listing_whose(&pair.place), STK_LISTING_MOST_BYTES, &listing) !=
            0) {
        return;
    }
    compare_names(&pair, entry, &listing, out);
    out->dropped = out->end == COMPARE_DIFFERS && drop_entry(cache, entry, &seen);
    stk_listing_close(&listing);
}

/* ---- blocks ---- */

static void compare_table(struct pair *pair, struct stk_big_blocks *blocks, struct compared *out)
{
    struct stat seen;
    pair->copy = stk_sys_openat(AT_FDCWD, blocks->file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0);
    if (pair->copy < 0 || stk_sys_fstat(pair->copy, &seen) != 0) {
        return;
    }
    compare_open(pair, blocks->size, blocks, out);
    out->dropped = out->end == COMPARE_DIFFERS && drop_blocks(pair, blocks);
}

/* Skips a table of another mount namespace: its file cannot be seen from here. */
void compare_blocks(struct stk_cache *cache, const char *table, const char *origin,
                    struct compared *out)
{
    struct pair pair = {.cache = cache, .copy = -1, .origin = -1};
    struct stk_big_blocks blocks;
    struct stk_big_blocks_name name;
    *out = (struct compared){.end = COMPARE_LOST};
    if (!stk_big_blocks_parse_name(table, &name) ||
        stk_big_blocks_look(&blocks, cache, table) != 0) {
        return;
    }
    pair.version = name.version;
    if (find_place(&pair, out, origin) && pair.place.key.low == name.key) {
        compare_table(&pair, &blocks, out);
    } else {
        out->end = COMPARE_GONE;
    }
    close_pair(&pair);
    stk_big_blocks_close(&blocks);
}
