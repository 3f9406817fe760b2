#include "store/store.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/proc.h"
#include "store/pending.h"
#include "store/content_hash.h"
#include "store/env.h"
#include "store/write_lock.h"
#include "store/place.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define FIRST_GRANT_MS   50
#define ASK_BEFORE_BYTES (256u << 10)

/* So many links are written together, if no value comes before; and so many where there is room for
 * little else. */
#define LINKS_AT_ONCE   64
#define LINKS_WHEN_FULL 4
#define LINKS_BYTES     (1u << 20) /* the bytes that so many links may take at the most */

/* The state of one process. It lies in a page that is full of zeros in a child of fork: an unlocked
 * mutex, an environment not opened yet, nothing pending. */
struct mine {
    pthread_mutex_t lock; /* of everything below but the environment's reading */
    _Atomic(struct stk_env *) env;
    bool tried;         /* the environment was tried to be opened */
    bool in_vain;       /* another process was in the way */
    _Atomic bool asked; /* a first grant was requested */
    _Atomic bool full;
    struct stk_pending pending;
    _Atomic uint64_t gets, hits, puts, bytes, refused, damaged;
};

struct stk_store {
    struct stk_store *next; /* in the list of all open stores */
    char *given;            /* the directory it was opened by */
    uint64_t namespace;
    char directory[STK_STORE_PLACE_BYTES];
    dev_t dev;
    ino_t ino;
    _Atomic uint64_t budget;
    uint64_t most; /* the budget it was opened with */
    char *samples; /* the STOKER_DECODED whose grant the budget is; NULL: no grant */
    _Atomic(struct stk_tally *) tally;
    struct mine *mine;
    struct stk_env *latest; /* the one in `mine`: leak checkers do not look into mapped pages */
};

/* ---- opening ---- */

static struct mine *make_mine(void)
{
    void *page =
        mmap(NULL, sizeof(struct mine), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return NULL;
    }
    if (madvise(page, sizeof(struct mine), MADV_WIPEONFORK) != 0) {
        munmap(page, sizeof(struct mine)); /* Linux before 4.14 */
        return NULL;
    }
    return page;
}

/* Its directory; 0 or an errno. */
static int find_place(struct stk_store *store)
{
    struct stat stat_;
    int error = stk_store_place(store->directory, store->given);
    if (error == 0 && stat(store->directory, &stat_) != 0) {
        error = errno;
    }
    if (error == 0) {
        store->dev = stat_.st_dev;
        store->ino = stat_.st_ino;
    }
    return error;
}

/* A child may be in another namespace than its parent. */
static bool is_placed(struct stk_store *store)
{
    uint64_t namespace = stk_proc_pid_namespace();
    if (namespace != store->namespace && find_place(store) != 0) {
        return false;
    }
    store->namespace = namespace;
    return true;
}

/* Without a budget there is nothing to make. */
static bool is_missing(const struct stk_store *store)
{
    char path[STK_STORE_PLACE_BYTES + 16];
    snprintf(path, sizeof path, "%s/data.mdb", store->directory);
    return atomic_load(&store->budget) == 0 && access(path, F_OK) != 0;
}

/* Tries to open the environment. Another process may be in the way: only the first call waits for
 * it, and a later one may find it gone. */
static void try_to_open(struct stk_store *store)
{
    struct mine *mine = store->mine;
    const struct stk_env_options options = {.budget = atomic_load(&store->budget),
                                            .most = store->most,
                                            .readers = STK_STORE_READERS,
                                            .at_once = mine->in_vain};
    errno = 0;
    store->latest = is_placed(store) ? stk_env_open(store->directory, &options) : NULL;
    mine->in_vain = store->latest == NULL && errno == EAGAIN;
    mine->tried = !mine->in_vain;
    atomic_store(&mine->env, store->latest);
}

static struct stk_env *open_env(struct stk_store *store)
{
    struct mine *mine = store->mine;
    pthread_mutex_lock(&mine->lock);
    if (!mine->tried && !is_missing(store)) {
        try_to_open(store);
    }
    struct stk_env *env = atomic_load(&mine->env);
    pthread_mutex_unlock(&mine->lock);
    return env;
}

static struct stk_env *env_of(struct stk_store *store)
{
    struct stk_env *env = atomic_load_explicit(&store->mine->env, memory_order_acquire);
    return env != NULL ? env : open_env(store);
}

static _Atomic(struct stk_store *) opened;

/* LMDB must not have an environment twice in a process: closing one would give up the other's
 * locks.
 */
static struct stk_store *find_open(const struct stk_store *wanted)
{
    struct stk_store *one = atomic_load(&opened);
    while (one != NULL && (one->dev != wanted->dev || one->ino != wanted->ino)) {
        one = one->next;
    }
    return one;
}

static void remember(struct stk_store *store)
{
    store->next = atomic_load(&opened);
    while (!atomic_compare_exchange_weak(&opened, &store->next, store)) {
    }
}

static void discard(struct stk_store *store)
{
    if (store->mine != NULL) {
        munmap(store->mine, sizeof *store->mine);
    }
    free(store->given);
    free(store);
}

/* Opens the store, or finds the `same` one that this process has open. Returns 0 or an errno. */
static int open_new(struct stk_store *store, struct stk_store **same)
{
    int error = store->given != NULL ? find_place(store) : ENOMEM;
    if (error != 0 || (*same = find_open(store)) != NULL) {
        return error;
    }
    store->namespace = stk_proc_pid_namespace();
    store->mine = make_mine();
    if (store->mine == NULL) {
        return ENOSYS;
    }
    bool open = env_of(store) != NULL || is_missing(store) || store->mine->in_vain;
    return open ? 0 : errno;
}

struct stk_store *stk_store_open(const char *directory, uint64_t budget)
{
    struct stk_store *store = calloc(1, sizeof *store), *same = NULL;
    if (store == NULL) {
        return NULL;
    }
    store->given = strdup(directory);
    store->most = budget;
    atomic_init(&store->budget, budget);
    int error = open_new(store, &same);
    if (error != 0 || same != NULL) {
        discard(store);
        errno = error;
    } else {
        remember(store);
        same = store;
    }
    if (same != NULL) {
        stk_store_set_budget(same, budget);
    }
    return same;
}

/* ---- reading ---- */

static uint64_t check_of(struct stk_hash128 key, const void *data, size_t bytes)
{
    return stk_content_hash_64(data, bytes, key.low ^ bytes);
}

/* Returns true if these are the bytes that were stored. */
static bool is_whole(struct stk_hash128 key, const void *found, size_t found_bytes,
                     struct stk_store_value *out)
{
    struct stk_head head;
    if (found_bytes < sizeof head) {
        return false;
    }
    memcpy(&head, found, sizeof head);
    out->data = (const char *)found + sizeof head;
    out->bytes = head.bytes;
    return head.bytes <= found_bytes - sizeof head &&
           head.check == check_of(key, out->data, out->bytes);
}

bool stk_store_get(struct stk_store *store, struct stk_hash128 key, struct stk_store_value *out)
{
    const void *found;
    size_t found_bytes;
    struct mine *mine = store->mine;
    struct stk_env *env = env_of(store);
    atomic_fetch_add(&mine->gets, 1);
    if (env == NULL || !stk_env_find(env, key, &found, &found_bytes)) {
        return false;
    }
    if (!stk_env_fetch(env, found, found_bytes) || !is_whole(key, found, found_bytes, out)) {
        atomic_fetch_add(&mine->damaged, 1);
        return false;
    }
    atomic_fetch_add(&mine->hits, 1);
    return true;
}

bool stk_store_void(struct stk_store *store, struct stk_hash128 key)
{
    const void *found;
    size_t found_bytes;
    struct stk_store_value value;
    struct stk_env *env = env_of(store);
    if (env == NULL || !stk_env_find(env, key, &found, &found_bytes) ||
        !stk_env_fetch(env, found, found_bytes) || !is_whole(key, found, found_bytes, &value)) {
        return false;
    }
    struct stk_head head;
    memcpy(&head, found, sizeof head);
    head.check = ~head.check;
    return stk_env_overwrite(env, found, &head, sizeof head);
}

/* Does not wait for a thread that is writing. */
static bool follow_aside(struct mine *mine, struct stk_hash128 from, struct stk_hash128 *to)
{
    if (atomic_load(&mine->pending.link_count) == 0 || pthread_mutex_trylock(&mine->lock) != 0) {
        return false;
    }
    const struct stk_pending_link *link = stk_pending_find_link(&mine->pending, from);
    if (link != NULL) {
        *to = link->to;
    }
    pthread_mutex_unlock(&mine->lock);
    return link != NULL;
}

bool stk_store_follow(struct stk_store *store, struct stk_hash128 from, struct stk_hash128 *to)
{
    struct stk_env *env = env_of(store);
    return env != NULL && (follow_aside(store->mine, from, to) || stk_env_follow(env, from, to));
}

/* ---- writing, under the lock ---- */

static bool add_links(const struct stk_pending *pending, struct stk_env *env)
{
    bool room = true;
    unsigned count = atomic_load(&pending->link_count);
    for (unsigned i = 0; i < count && room; i++) {
        room = stk_env_link(env, pending->links[i].from, pending->links[i].to);
    }
    return room;
}

/* Adds one, and counts it. */
static bool add_one(struct stk_env *env, const struct stk_pending_value *named, const void *body,
                    struct stk_store_counts *written)
{
    const struct stk_head *head = &named->head;
    const struct stk_env_parts parts = {
        .head = head, .body = body, .head_bytes = sizeof *head, .body_bytes = head->bytes};
    if (!stk_env_add(env, named->key, &parts)) {
        return false;
    }
    written->puts++;
    written->bytes += head->bytes;
    return true;
}

/* Writes what is aside, and one more if there is one, in one transaction. */
static bool write_all(struct mine *mine, struct stk_env *env, const struct stk_pending_value *more,
                      const void *body)
{
    struct stk_store_counts written = {0};
    bool room = stk_env_begin(env);
    if (!room) {
        return false;
    }
    for (const struct stk_pending_value *one = mine->pending.values; one != NULL && room;
         one = one->next) {
        room = add_one(env, one, one->body, &written);
    }
    if (room && more != NULL) {
        room = add_one(env, more, body, &written);
    }
    room = room && add_links(&mine->pending, env);
    if (!stk_env_end(env)) {
        return false;
    }
    atomic_fetch_add(&mine->puts, written.puts);
    atomic_fetch_add(&mine->bytes, written.bytes);
    return room;
}

/* Writes all that is pending, and one more value. Returns 1: written; 0: another process writes;
 * -1: refused, now and from now on. */
static int write_now(struct stk_store *store, struct stk_env *env,
                     const struct stk_pending_value *more, const void *body)
{
    struct mine *mine = store->mine;
    int lock = stk_write_lock_acquire(store->directory, STK_WRITE_LOCK_VALUES);
    if (lock < 0) {
        return 0;
    }
    bool written = write_all(mine, env, more, body);
    stk_write_lock_release(lock);
    unsigned values = stk_pending_drop(&mine->pending);
    if (!written) {
        atomic_store(&mine->full, true);
        atomic_fetch_add(&mine->refused, values);
    }
    return written ? 1 : -1;
}

static bool put_locked(struct stk_store *store, struct stk_env *env, struct stk_hash128 key,
                       const void *data, size_t bytes)
{
    struct mine *mine = store->mine;
    if (stk_pending_has(&mine->pending, key)) {
        return true;
    }
    const struct stk_pending_value one = {
        .key = key, .head = {.check = check_of(key, data, bytes), .bytes = bytes}};
    int written = write_now(store, env, &one, data);
    return written > 0 || (written == 0 && stk_pending_keep(&mine->pending, &one, data));
}

/* ---- what may be kept ---- */

void stk_store_join(struct stk_store *store, struct stk_tally *tally, const char *samples)
{
    if (store->samples == NULL && (store->samples = strdup(samples)) != NULL) {
        atomic_store(&store->tally, tally);
    }
}

/* False: none is for us. */
static bool read_grant(struct stk_store *store, uint64_t *out)
{
    struct stk_tally *tally = atomic_load(&store->tally);
    return tally != NULL && stk_tally_read_grant(tally, store->samples, out);
}

/* The command has to make the first grant, since it does not reserve for programs that keep
 * nothing. It takes less than a millisecond, and is waited for once. */
static void wait_for_grant(struct stk_store *store, uint64_t *bytes)
{
    const struct timespec pause = {0, 1000000};
    if (!atomic_exchange(&store->mine->asked, true)) {
        stk_tally_ask(atomic_load(&store->tally));
        for (int i = 0; i < FIRST_GRANT_MS && *bytes == 0; i++) {
            nanosleep(&pause, NULL);
            read_grant(store, bytes);
        }
    }
}

/* Takes the budget that is granted now, and asks for more before it is used up. */
static void settle_budget(struct stk_store *store, size_t bytes)
{
    uint64_t granted;
    if (!read_grant(store, &granted)) {
        return;
    }
    if (granted == 0) {
        wait_for_grant(store, &granted);
    }
    if (granted != atomic_load(&store->budget)) {
        stk_store_set_budget(store, granted);
    }
    struct stk_env *env = env_of(store);
    size_t soon = ASK_BEFORE_BYTES + 8 * (bytes < SIZE_MAX / 16 ? bytes : 0);
    if (granted == 0 || (env != NULL && !stk_env_has_room(env, soon))) {
        stk_tally_ask(atomic_load(&store->tally));
    }
}

/* The store's environment, where it may grow; else NULL. */
static struct stk_env *growing_env(struct stk_store *store, size_t bytes)
{
    settle_budget(store, bytes);
    struct stk_env *env = env_of(store);
    bool grows = atomic_load(&store->budget) != 0 && !atomic_load(&store->mine->full);
    return grows ? env : NULL;
}

bool stk_store_put(struct stk_store *store, struct stk_hash128 key, const void *data, size_t bytes)
{
    const void *found;
    size_t found_bytes;
    struct stk_env *env = growing_env(store, bytes);
    struct mine *mine = store->mine;
    if (env == NULL) {
        atomic_fetch_add(&mine->refused, 1);
        return false;
    }
    if (stk_env_find(env, key, &found, &found_bytes)) {
        return true;
    }
    pthread_mutex_lock(&mine->lock);
    bool kept = put_locked(store, env, key, data, bytes);
    pthread_mutex_unlock(&mine->lock);
    if (!kept) {
        atomic_fetch_add(&mine->refused, 1);
    }
    return kept;
}

static bool link_locked(struct stk_store *store, struct stk_env *env,
                        const struct stk_pending_link *link)
{
    struct stk_pending *pending = &store->mine->pending;
    bool kept = stk_pending_link(pending, link);
    unsigned at_once = stk_env_has_room(env, LINKS_BYTES) ? LINKS_AT_ONCE : LINKS_WHEN_FULL;
    bool is_time = pending->link_count % at_once == 0;
    return kept && (!is_time || write_now(store, env, NULL, NULL) >= 0);
}

bool stk_store_link(struct stk_store *store, struct stk_hash128 from, struct stk_hash128 to)
{
    struct stk_env *env = growing_env(store, 0);
    struct mine *mine = store->mine;
    const struct stk_pending_link link = {from, to};
    struct stk_hash128 known;
    if (env == NULL) {
        return false;
    }
    if (stk_store_follow(store, from, &known) && known.low == to.low && known.high == to.high) {
        return true;
    }
    pthread_mutex_lock(&mine->lock);
    bool kept = link_locked(store, env, &link);
    pthread_mutex_unlock(&mine->lock);
    return kept;
}

bool stk_store_admits(struct stk_store *store, size_t bytes)
{
    struct stk_env *env = growing_env(store, bytes);
    return env != NULL && stk_env_has_room(env, bytes);
}

void stk_store_set_budget(struct stk_store *store, uint64_t budget)
{
    if (atomic_exchange(&store->budget, budget) < budget) {
        atomic_store(&store->mine->full, false);
    }
    struct stk_env *env = env_of(store);
    if (env != NULL) {
        stk_env_set_budget(env, budget);
    }
}

bool stk_store_flush(struct stk_store *store)
{
    struct stk_env *env = env_of(store);
    struct mine *mine = store->mine;
    if (env == NULL) {
        return true;
    }
    pthread_mutex_lock(&mine->lock);
    bool nothing = mine->pending.values == NULL && mine->pending.link_count == 0;
    bool done = nothing || write_now(store, env, NULL, NULL) != 0;
    pthread_mutex_unlock(&mine->lock);
    return done;
}

/* ---- figures ---- */

uint64_t stk_store_used_bytes(struct stk_store *store)
{
    struct stk_env *env = env_of(store);
    return env != NULL ? stk_env_used_bytes(env) : 0;
}

void stk_store_read_counts(const struct stk_store *store, struct stk_store_counts *out)
{
    const struct mine *mine = store->mine;
    *out = (struct stk_store_counts){.gets = atomic_load(&mine->gets),
                                     .hits = atomic_load(&mine->hits),
                                     .puts = atomic_load(&mine->puts),
                                     .bytes = atomic_load(&mine->bytes),
                                     .refused = atomic_load(&mine->refused),
                                     .damaged = atomic_load(&mine->damaged)};
}
