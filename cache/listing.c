/* Listings. See cache/listing.h. */
#include "cache/listing.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/sys.h"
#include "base/text.h"
#include "cache/claim.h"
#include "cache/drop.h"
#include "cache/entry.h"
#include "cache/pressure.h"
#include "cache/remember.h"
#include "cache/trust.h"

#define ATTEMPTS    8
#define FORM        UINT64_C(0x31676e697473696c) /* counted up when the form changes */
#define FIRST_BYTES (64u << 10)
#define MOST_BYTES  (64u << 20) /* a million names; what is larger is the origin's */
#define PIECE_BYTES (32u << 10) /* as libc asks for */

#define ABSENT_BYTES                                                                               \
    (256 << 10) /* of a larger listing, to ask is as fast as to look through it                    \
                 */
#define ABSENT_NS STK_NS_PER_S

/* What lies before the records. */
struct head {
    uint64_t form;
    uint64_t check; /* of all that follows it */
    uint64_t key;   /* of the directory's path */
    uint64_t bytes; /* all of it, the head included */
};

/* ---- a listing in memory ---- */

void stk_listing_close(struct stk_listing *listing)
{
    if (listing->map != NULL) {
        stk_sys_munmap(listing->map, listing->map_bytes);
    }
    listing->map = NULL;
}

static char *map_memory(size_t bytes)
{
    return stk_sys_mmap(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static bool make_room(struct stk_listing *listing, size_t bytes)
{
    if (listing->map != NULL && bytes <= listing->map_bytes) {
        return true;
    }
    size_t wanted = listing->map != NULL ? 2 * listing->map_bytes : FIRST_BYTES;
    char *map = wanted <= MOST_BYTES ? map_memory(wanted) : NULL;
    if (map == NULL) {
        return false;
    }
    if (listing->map != NULL) {
        memcpy(map, listing->map, listing->bytes);
        stk_sys_munmap(listing->map, listing->map_bytes);
    }
    listing->map = map;
    listing->map_bytes = wanted;
    return true;
}

const struct stk_listing_name *stk_listing_at(const struct stk_listing *listing, size_t *offset)
{
    size_t at = *offset == 0 ? sizeof(struct head) : *offset;
    const struct stk_listing_name *name =
        (const struct stk_listing_name *)(const void *)(listing->map + at);
    const size_t least = offsetof(struct stk_listing_name, name) + 2; /* a letter and the zero */
    if (at + least > listing->bytes || name->bytes < least || name->bytes > listing->bytes - at) {
        return NULL;
    }
    *offset = at + name->bytes;
    return name;
}

static uint64_t check_of(const char *map, size_t bytes)
{
    const size_t before = offsetof(struct head, key);
    return stk_hash_64(map + before, bytes - before, FORM);
}

static struct head *head_of(const struct stk_listing *listing)
{
    return (struct head *)(void *)listing->map;
}

static void write_head(struct stk_listing *listing, uint64_t key)
{
    struct head *head = head_of(listing);
    *head = (struct head){.form = FORM, .key = key, .bytes = listing->bytes};
    head->check = check_of(listing->map, listing->bytes);
}

/* Of bytes that anybody of this user may have written to. */
static bool is_whole(const struct stk_listing *listing, uint64_t key)
{
    const struct head *head = head_of(listing);
    return head->form == FORM && head->key == key && head->bytes == listing->bytes &&
           head->check == check_of(listing->map, listing->bytes);
}

/* ---- an entry of a listing ---- */

static bool read_whole(int fd, char *buffer, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = stk_sys_pread(fd, buffer + done, bytes - done, (off_t)done);
        if (got <= 0) {
            return false;
        }
        done += (size_t)got;
    }
    return true;
}

static int load_fd(int fd, uint64_t key, off_t most, struct stk_listing *out)
{
    struct stat stat;
    if (stk_sys_fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode) ||
        stat.st_uid != stk_sys_geteuid() || stat.st_size < (off_t)sizeof(struct head) ||
        stat.st_size > MOST_BYTES) {
        return -EINVAL;
    }
    if (stat.st_size > most) {
        return -EFBIG;
    }
    out->bytes = out->map_bytes = (size_t)stat.st_size;
    out->map = map_memory(out->map_bytes);
    if (out->map != NULL && read_whole(fd, out->map, out->bytes) && is_whole(out, key)) {
        return 0;
    }
    stk_listing_close(out);
    return -EINVAL;
}

/* 0; -ENOENT: there is none; -EINVAL: it is none of this directory; -EFBIG: it has more than so
 * many bytes; or another -errno. */
static int load(const char *entry, uint64_t key, off_t most, struct stk_listing *out)
{
    int fd = stk_sys_open_nolinks(entry, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return fd;
    }
    int error = load_fd(fd, key, most, out);
    stk_sys_close(fd);
    return error;
}

/* ---- finding ---- */

bool stk_listing_may(const struct stk_cache *cache, const struct stk_place *directory)
{
    return cache->catalogue.header != NULL && cache->tier.shared != NULL &&
           cache->options.listings != STK_LISTINGS_OFF && !directory->root->in_memory;
}

struct stk_hash128 stk_listing_key(const struct stk_root *root, const char *below, size_t length)
{
    return stk_hash_128(below, length, root->key ^ FORM); /* no file's */
}

/* Whether a directory's times tell its version. */
static bool is_told_by_times(const struct stk_cache *cache, const struct stk_place *directory)
{
    return directory->root->keeps_times || cache->options.listings == STK_LISTINGS_MTIME;
}

/* A directory on another device than its root's (behind a link, or where something was mounted
 * since) is the origin's. */
static bool identify(const struct stk_place *directory, const struct statx *answer,
                     struct stk_identity *out)
{
    return S_ISDIR(answer->stx_mode) && stk_identity_from_statx(out, answer) &&
           out->dev == directory->root->dev && stk_root_is_there(directory->root);
}

/* The record of the version that a look has found, or 0: it is too young to be told from the next.
 */
static uint32_t remember(struct stk_cache *cache, const struct stk_place *directory,
                         const struct stk_identity *identity)
{
    if (stk_trust_is_young(cache, identity)) {
        stk_trust_forget(cache, directory, identity);
        return 0;
    }
    return stk_remember(cache, directory, identity);
}

static uint32_t learn(struct stk_cache *cache, const struct stk_place *directory,
                      const struct stk_look *look)
{
    struct stk_identity identity;
    uint32_t number =
        identify(directory, &look->answer, &identity) ? remember(cache, directory, &identity) : 0;
    struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    if (record != NULL) {
        stk_claim_set_leaf(&record->claim, look->leaf);
        stk_trust_note(cache, record, &identity, look->asked_ns);
    }
    return record != NULL ? number : 0;
}

/* Apart for its stack. */
__attribute__((noinline)) void stk_listing_learn(struct stk_cache *cache,
                                                 const struct stk_place *place,
                                                 const struct stk_look *look)
{
    struct stk_place directory = *place;
    size_t length = strlen(directory.below);
    if (!S_ISDIR(look->answer.stx_mode) || !stk_listing_may(cache, place) ||
        !is_told_by_times(cache, place) || length + 2 > sizeof directory.below) {
        return;
    }
    directory.key = stk_listing_key(place->root, place->below, length);
    directory.below[length] = '/';
    directory.below[length + 1] = '\0';
    learn(cache, &directory, look);
}

/* One look at the directory's times: true if they vouch for what the record has. */
static bool validate(struct stk_cache *cache, const struct stk_place *directory, uint32_t wanted)
{
    struct stk_look look;
    return is_told_by_times(cache, directory) &&
           stk_trust_look(cache, directory, false, &look) == 0 &&
           learn(cache, directory, &look) == wanted;
}

static bool name_entry(struct stk_cache *cache, const struct stk_place *directory,
                       const struct stk_record *record, unsigned index, char *entry)
{
    struct stk_tier tier;
    return stk_tier_by_index(&cache->catalogue, index, &tier) &&
           stk_entry_path(entry, tier.home, directory->root, directory->below,
                          stk_record_name(record));
}

static void tell_whose(const struct stk_record *record, uint32_t number, struct stk_listing *out)
{
    out->dev = stk_record_dev(record);
    out->ino = atomic_load(&record->ino);
    out->record = number;
}

/* What is gone or damaged is dropped, so that it will be made again. */
static bool serve(struct stk_cache *cache, const struct stk_place *directory, uint32_t number,
                  off_t most, struct stk_listing *out)
{
    char entry[STK_PATH_BYTES];
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    unsigned tier = stk_claim_load(&record->claim).tier;
    if (!name_entry(cache, directory, record, tier, entry)) {
        return false;
    }
    int error = load(entry, directory->key.low, most, out);
    if (error == -ENOENT || error == -EINVAL) {
        stk_drop_entry(cache, number, entry);
    }
    tell_whose(record, number, out);
    return error == 0;
}

/* The claim when nobody fills it; waits for who does. */
static struct stk_claim settled_claim(struct stk_record *record)
{
    struct stk_claim claim = stk_claim_load(&record->claim);
    if (claim.state == STK_FILLING) {
        stk_claim_wait(&record->claim);
        claim = stk_claim_load(&record->claim);
    }
    return claim;
}

bool stk_listing_find(struct stk_cache *cache, const struct stk_place *directory,
                      struct stk_listing *out)
{
    out->map = NULL;
    if (!stk_listing_may(cache, directory)) {
        return false;
    }
    uint32_t number = stk_catalogue_find(&cache->catalogue, directory->key);
    struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    if (record == NULL || settled_claim(record).state != STK_PRESENT) {
        return false;
    }
    enum stk_trust trust = stk_trust_of(cache, directory->root, record);
    return trust != STK_TRUST_WRITTEN &&
           (trust == STK_TRUST_YES || validate(cache, directory, number)) &&
           serve(cache, directory, number, MOST_BYTES, out);
}

/* ---- names that are absent ---- */

/* One name under which another may be found: nothing is known of file systems that do not tell
 * letters apart. */
static bool is_alike(const char *a, const char *b)
{
    for (; *a != '\0' || *b != '\0'; a++, b++) {
        char small_a = *a >= 'A' && *a <= 'Z' ? (char)(*a + 'a' - 'A') : *a;
        char small_b = *b >= 'A' && *b <= 'Z' ? (char)(*b + 'a' - 'A') : *b;
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
    struct stk_text text = stk_text_in(path, sizeof path);
    stk_text_add(&text, directory->root->prefix);
    stk_text_add_char(&text, '/');
    stk_text_add(&text, directory->below);
    directory->dirfd = AT_FDCWD;
    directory->path = path;
    return !text.cut && validate(cache, directory, number);
}

/* A look that is not as old as that, or one now. */
static bool is_recent(struct stk_cache *cache, struct stk_place *directory, uint32_t number)
{
    const struct stk_record *record = stk_catalogue_record(&cache->catalogue, number);
    int64_t age_ns = stk_clock_boottime_ns() - atomic_load(&record->validated_ns);
    return age_ns < ABSENT_NS || validate_anew(cache, directory, number);
}

/* Who may list a directory may not be let look for a name in it, which is another error. */
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
        stk_trust_of(cache, directory->root, record) != STK_TRUST_YES || !is_searchable(record) ||
        !serve(cache, directory, number, ABSENT_BYTES, &listing)) {
        return false;
    }
    bool absent = lacks(&listing, leaf);
    stk_listing_close(&listing);
    return absent && is_recent(cache, directory, number);
}

/* Apart for its stack. */
__attribute__((noinline)) bool stk_listing_lacks(struct stk_cache *cache,
                                                 const struct stk_place *place)
{
    struct stk_place directory;
    const struct stk_root *root = place->root;
    const char *leaf = stk_path_leaf(place->below);
    size_t length = (size_t)(leaf - place->below);
    if (!stk_listing_may(cache, place) || root->only != NULL || !is_plain(leaf) ||
        !(root->is_remote || cache->options.listings == STK_LISTINGS_MTIME)) {
        return false;
    }
    directory.root = root;
    directory.key = stk_listing_key(root, place->below, length > 0 ? length - 1 : 0);
    memcpy(directory.below, place->below, length);
    directory.below[length] = '\0';
    return lacks_in(cache, &directory, leaf);
}

/* ---- filling ---- */

struct filling {
    struct stk_cache *cache;
    const struct stk_place *directory;
    int fd;
    struct stk_record *record;
    struct stk_identity identity;
    int64_t blocks;
    char entry[STK_PATH_BYTES];
};

static bool look_at(const struct filling *filling, int flags, struct stk_identity *out)
{
    struct statx answer;
    unsigned wanted = STATX_BASIC_STATS | STATX_BTIME;
    return stk_sys_statx(filling->fd, "", AT_EMPTY_PATH | flags, wanted, &answer) == 0 &&
           identify(filling->directory, &answer, out);
}

static bool is_refused(const struct stk_cache *cache, struct stk_claim claim)
{
    const struct stk_tier *tier = &cache->tier;
    return claim.state == STK_REFUSED && claim.tier == tier->index &&
           (claim.detail == atomic_load(&tier->shared->budget.generation) ||
            (claim.detail == stk_pressure_refusal(tier) && !stk_pressure_admits(tier, 0)));
}

enum turn { NOBODYS, MINE, MADE };

/* Whose turn it is. What another has just made is there to be served. */
static enum turn take_turn(struct filling *filling)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        struct stk_claim claim = settled_claim(filling->record);
        bool trusted = stk_trust_of(filling->cache, filling->directory->root, filling->record) ==
                       STK_TRUST_YES;
        if (claim.state == STK_PRESENT && trusted) {
            return MADE;
        }
        if (is_refused(filling->cache, claim)) {
            return NOBODYS;
        }
        if (claim.state != STK_FILLING && stk_claim_take(&filling->record->claim, claim)) {
            return MINE;
        }
    }
    return NOBODYS;
}

/* All records from the start to the end; advances the claim. */
static bool read_names(const struct filling *filling, struct stk_listing *out)
{
    out->bytes = sizeof(struct head);
    for (;;) {
        if (!make_room(out, out->bytes + PIECE_BYTES)) {
            return false;
        }
        ssize_t got = stk_sys_getdents(filling->fd, out->map + out->bytes, PIECE_BYTES);
        stk_claim_advance(&filling->record->claim);
        if (got < 0) {
            return false;
        }
        if (got == 0) {
            return true;
        }
        out->bytes += (size_t)got;
    }
}

static enum stk_bypass reserve(struct filling *filling, int64_t blocks, int64_t inodes)
{
    struct stk_tier_shared *tier = filling->cache->tier.shared;
    enum stk_took took = stk_tier_take(tier, blocks, inodes);
    filling->blocks += took == STK_TOOK ? blocks : 0;
    return took == STK_TOOK           ? STK_BYPASS_NONE
           : took == STK_TOOK_NO_ROOM ? STK_BYPASS_BUDGET
                                      : STK_BYPASS_TIER;
}

/* File systems may take more blocks than the size says. */
static enum stk_bypass reserve_excess(struct filling *filling, const struct stk_entry_draft *draft)
{
    struct stat stat;
    if (stk_sys_fstat(draft->fd, &stat) != 0 || stat.st_ino != draft->ino) {
        return STK_BYPASS_TIER;
    }
    int64_t excess = stat.st_blocks - filling->blocks;
    return excess > 0 ? reserve(filling, excess, 0) : STK_BYPASS_NONE;
}

static bool write_names(const struct stk_entry_draft *draft, const struct stk_listing *listing)
{
    for (size_t done = 0; done < listing->bytes;) {
        ssize_t put = stk_entry_holds(draft) ? stk_sys_pwrite(draft->fd, listing->map + done,
                                                              listing->bytes - done, (off_t)done)
                                             : -EBADF;
        if (put <= 0) {
            return false;
        }
        done += (size_t)put;
    }
    return true;
}

static enum stk_bypass write_entry(struct filling *filling, const struct stk_listing *listing)
{
    struct stk_entry_draft draft;
    const struct stk_tier *tier = &filling->cache->tier;
    if (stk_entry_begin(&draft, tier->home, listing->bytes) != 0) {
        return STK_BYPASS_TIER;
    }
    enum stk_bypass why =
        write_names(&draft, listing) ? reserve_excess(filling, &draft) : STK_BYPASS_TIER;
    stk_pressure_sign(tier, draft.path);
    if (why != STK_BYPASS_NONE) {
        stk_entry_discard(&draft);
        return why;
    }
    int error = stk_entry_publish(&draft, tier, filling->directory->root, filling->entry);
    stk_entry_close(&draft);
    return error == 0 ? STK_BYPASS_NONE : error == -EDQUOT ? STK_BYPASS_BUDGET : STK_BYPASS_TIER;
}

/* What is there by this name may be of an earlier run, of times that tell nothing, or have been
 * published by one who was killed. The same names: it is as good. Else it goes. */
static bool adopt(const struct filling *filling, const struct stk_listing *listing)
{
    struct stk_listing found;
    struct stat stat = {.st_blocks = 0};
    uint64_t key = filling->directory->key.low;
    int error = load(filling->entry, key, MOST_BYTES, &found);
    if (error == 0) {
        bool same = head_of(&found)->check == head_of(listing)->check;
        stk_listing_close(&found);
        if (same) {
            return true;
        }
    }
    if (error != -ENOENT &&
        stk_sys_fstatat(AT_FDCWD, filling->entry, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
        stk_sys_unlinkat(AT_FDCWD, filling->entry, 0) == 0) {
        stk_tier_free(filling->cache->tier.shared, stat.st_blocks, 1);
    }
    return false;
}

static enum stk_bypass keep(struct filling *filling, struct stk_listing *listing)
{
    const struct stk_tier *tier = &filling->cache->tier;
    write_head(listing, filling->directory->key.low);
    if (adopt(filling, listing)) {
        return STK_BYPASS_NONE;
    }
    if (!stk_pressure_admits(tier, (int64_t)listing->bytes)) {
        return STK_BYPASS_MEMORY;
    }
    int64_t blocks = stk_budget_blocks_of(listing->bytes, tier->shared->block_bytes);
    enum stk_bypass why = reserve(filling, blocks, 1);
    if (why != STK_BYPASS_NONE) {
        return why;
    }
    why = write_entry(filling, listing);
    if (why != STK_BYPASS_NONE) {
        stk_tier_release(tier->shared, filling->blocks, 1);
    }
    return why;
}

static void finish(const struct filling *filling, enum stk_bypass why)
{
    const struct stk_tier *tier = &filling->cache->tier;
    _Atomic uint64_t *claim = &filling->record->claim;
    if (why == STK_BYPASS_NONE) {
        stk_claim_finish(claim, STK_PRESENT, tier->index, 0);
    } else if (why == STK_BYPASS_BUDGET || why == STK_BYPASS_MEMORY) {
        stk_claim_finish(claim, STK_REFUSED, tier->index,
                         why == STK_BYPASS_MEMORY ? stk_pressure_refusal(tier)
                                                  : atomic_load(&tier->shared->budget.generation));
    } else {
        stk_claim_finish(claim, STK_ABSENT, 0, 0);
    }
}

/* Somebody may have changed it meanwhile, and what was read be neither of before nor of after.
 * Where times tell nothing, they do not tell that either: each look may cost a question. But the
 * number may be another directory's by now, if another thread closes what is not its own. */
static bool is_unchanged(const struct filling *filling)
{
    struct stk_identity now;
    if (!is_told_by_times(filling->cache, filling->directory)) {
        return look_at(filling, AT_STATX_DONT_SYNC, &now) && now.dev == filling->identity.dev &&
               now.ino == filling->identity.ino;
    }
    stk_run_count_stat(&filling->cache->run, false);
    return look_at(filling, AT_STATX_FORCE_SYNC, &now) &&
           stk_identity_same_version(&now, &filling->identity);
}

/* It is trusted only when it is what was read, and nobody else serves it before it is present. */
static enum stk_bypass keep_if_unchanged(struct filling *filling, struct stk_listing *listing,
                                         int64_t opened_ns)
{
    enum stk_bypass why = is_unchanged(filling) ? keep(filling, listing) : STK_BYPASS_CHANGED;
    if (why == STK_BYPASS_NONE) {
        stk_trust_note(filling->cache, filling->record, &filling->identity, opened_ns);
    }
    return why;
}

/* Of a claim that is ours, which it ends. */
static bool run_fill(struct filling *filling, int64_t opened_ns, struct stk_listing *out)
{
    bool read = read_names(filling, out);
    finish(filling, read ? keep_if_unchanged(filling, out, opened_ns) : STK_BYPASS_CHANGED);
    if (!read) {
        stk_listing_close(out);
        stk_sys_lseek(filling->fd, 0, SEEK_SET);
    }
    return read;
}

/* The first look may be what a client remembers: the version of a time before the reading is as
 * good, since what changes after that makes another. */
bool stk_listing_fill(struct stk_cache *cache, const struct stk_place *directory, int fd,
                      int64_t opened_ns, struct stk_listing *out)
{
    struct filling filling = {.cache = cache, .directory = directory, .fd = fd};
    out->map = NULL;
    if (!stk_listing_may(cache, directory) || !stk_catalogue_is_current(&cache->catalogue) ||
        !look_at(&filling, 0, &filling.identity)) {
        return false;
    }
    uint32_t number = remember(cache, directory, &filling.identity);
    filling.record = stk_catalogue_record(&cache->catalogue, number);
    if (filling.record == NULL ||
        !name_entry(cache, directory, filling.record, cache->tier.index, filling.entry)) {
        return false;
    }
    enum turn turn = take_turn(&filling);
    tell_whose(filling.record, number, out);
    return turn == MADE ? serve(cache, directory, number, MOST_BYTES, out)
                        : turn == MINE && run_fill(&filling, opened_ns, out);
}
