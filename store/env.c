#include "store/env.h"

#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/local.h"
#include "base/sys.h"
#include "store/prefetch.h"
#include "store/write_lock.h"
#include "store/place.h"
#include "store/btree.h"

/* Read transactions kept for the next reader. If more threads read at once, they make their own. */
#define SPARE_READERS 64

/* LMDB's bytes before the value on the first of its own pages. LMDB gives a value such pages if a
 * node with it would fill half a page; each value is padded to fill one page at least. */
#define PAGE_HEAD_BYTES   16
#define OVERWRITTEN_BYTES 64
/* The pages that a transaction writes besides its values: a path of the tree for each, and the free
 * list. */
#define PAGES_BESIDES 16
/* The pages that a link dirties: a path of the tree, in which pages may be split. Many links dirty
 * the whole tree at most. */
#define PAGES_A_LINK 8
/* The room that values leave to links: without a link to its form, a file is read each time. */
#define BYTES_FOR_LINKS (256u << 10)
#define LINKS_SHARE     32
/* After so many transactions the slots of dead readers are freed. A reader that was killed while it
 * read would prevent the reuse of all pages of the tree that are written anew. */
#define TRANSACTIONS_A_CHECK 16

/* LMDB takes as many readers as its table's file has room for. The file is made by these sizes,
 * which are larger than LMDB's own, so it has room for all of them. */
#define TABLE_READER_BYTES 64
#define TABLE_HEAD_BYTES   8192

struct stk_env {
    MDB_env *lmdb;
    mdb_filehandle_t fd; /* of the file that LMDB writes */
    MDB_dbi values;
    _Atomic uint64_t budget;
    uint64_t map_bytes;
    size_t page_bytes; /* set by the kernel under which the environment was made; often not 4096 */
    dev_t dev;
    ino_t ino;
    bool on_disk;
    _Atomic(MDB_txn *) spare[SPARE_READERS];
    /* Held around the write lock on the table of readers, which is the whole process's. */
    pthread_mutex_t table;
    bool in_vain; /* the last wait for that lock failed */
    char *directory;
    MDB_txn *writing;
    uint64_t added_pages;             /* since begin */
    uint64_t added_links, tree_pages; /* links since begin; pages of the tree at begin */
    unsigned begun;                   /* transactions */
};

/* A link's name is longer than a value's, so the two are never equal. */
struct link_name {
    struct stk_hash128 from;
    char kind;
} __attribute__((packed));

/* ---- opening ---- */

/* Beyond the limit on the size of files the kernel would end the program with a signal. */
static uint64_t room_in_file(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 ? limit.rlim_cur : 0;
}

/* Returns true while the descriptor's number still is that of the file that LMDB writes. */
static bool holds_file(const struct stk_env *env)
{
    struct stat stat;
    return fstat(env->fd, &stat) == 0 && stat.st_dev == env->dev && stat.st_ino == env->ino;
}

/* Returns true if LMDB may read the two head pages. If the disk could not read them, touching them
 * would end the program. */
static bool has_heads(const struct stk_env *env)
{
    return !env->on_disk || stk_btree_read_heads(env->fd, env->page_bytes);
}

/* Returns true if LMDB may read the pages that lead to a name, as they are in that finished
 * transaction. */
static bool has_way(const struct stk_env *env, uint64_t txn, enum stk_btree tree,
                    const MDB_val *name)
{
    return !env->on_disk ||
           stk_btree_read_way(env->fd, env->page_bytes, txn, tree, name->mv_data, name->mv_size);
}

/* Returns true if LMDB may go to a name in the present write transaction. */
static bool can_write(const struct stk_env *env, enum stk_btree tree, const MDB_val *name)
{
    return has_way(env, mdb_txn_id(env->writing) - 1, tree, name);
}

static int note_file(struct stk_env *env)
{
    struct stat stat;
    struct statfs fs;
    if (mdb_env_get_fd(env->lmdb, &env->fd) != 0 || fstat(env->fd, &stat) != 0) {
        return EBADF;
    }
    env->on_disk = fstatfs(env->fd, &fs) == 0 && !stk_local_is_memory(&fs);
    env->dev = stat.st_dev;
    env->ino = stat.st_ino;
    return 0;
}

/* Returns LMDB's error as an errno. */
static int errno_of(int error)
{
    return error > 0 ? error : error == MDB_VERSION_MISMATCH ? EPROTO : EIO;
}

/* LMDB guards its table of readers by a lock of its own. This process takes that lock only under
 * our write lock: in `stk_env_open`, or between these two functions. After a wait that failed it
 * does not wait again until no other process is in the way. */
static int enter_table(struct stk_env *env)
{
    pthread_mutex_lock(&env->table);
    int lock = env->in_vain ? stk_write_lock_acquire(env->directory, STK_WRITE_LOCK_READERS)
                            : stk_write_lock_wait(env->directory, STK_WRITE_LOCK_READERS);
    env->in_vain = lock < 0;
    if (lock < 0) {
        pthread_mutex_unlock(&env->table);
    }
    return lock;
}

static void leave_table(struct stk_env *env, int lock)
{
    stk_write_lock_release(lock);
    pthread_mutex_unlock(&env->table);
}

/* Takes a slot in the table, under the write lock. If the table is full, slots of dead processes
 * are freed. */
static int begin_reading(MDB_env *lmdb, MDB_txn **txn)
{
    int dead, error = mdb_txn_begin(lmdb, NULL, MDB_RDONLY, txn);
    if (error == MDB_READERS_FULL && mdb_reader_check(lmdb, &dead) == 0 && dead > 0) {
        error = mdb_txn_begin(lmdb, NULL, MDB_RDONLY, txn);
    }
    return error;
}

/* Reads the size of the map as well: if the file is larger, LMDB makes the map larger. */
static int note_sizes(struct stk_env *env)
{
    MDB_stat stat;
    MDB_envinfo info;
    int error = mdb_env_stat(env->lmdb, &stat);
    error = error != 0 ? error : mdb_env_info(env->lmdb, &info);
    if (error == 0) {
        env->page_bytes = stat.ms_psize;
        env->map_bytes = info.me_mapsize;
    }
    return error;
}

static int open_values(struct stk_env *env)
{
    MDB_txn *txn;
    int error = begin_reading(env->lmdb, &txn);
    if (error == 0) {
        error = mdb_dbi_open(txn, NULL, 0, &env->values);
        if (error == 0) { /* its slot is kept for the first reader */
            mdb_txn_reset(txn);
            atomic_init(&env->spare[0], txn);
        } else {
            mdb_txn_abort(txn);
        }
    }
    return error;
}

static int try_open(struct stk_env *env, const char *directory, uint64_t map, unsigned readers)
{
    int error = mdb_env_create(&env->lmdb);
    if (error != 0) {
        return error;
    }
    error = mdb_env_set_mapsize(env->lmdb, map);
    error = error != 0 ? error : mdb_env_set_maxreaders(env->lmdb, readers);
    /* Not synced: if the machine dies, only a cache is lost. Readers come and go with threads. */
    unsigned flags = MDB_NOSYNC | MDB_NOTLS | MDB_NORDAHEAD;
    error = error != 0 ? error : mdb_env_open(env->lmdb, directory, flags, 0600);
    error = error != 0 ? error : note_file(env);
    error = error != 0 ? error : note_sizes(env);
    error = error != 0 ? error : open_values(env);
    if (error != 0) {
        mdb_env_close(env->lmdb);
    }
    return error;
}

/* LMDB maps the table: a page that the disk cannot read would end the program by a signal. */
static int read_table(int fd, off_t bytes)
{
    char piece[4096];
    ssize_t got = 0;
    for (off_t at = 0; at < bytes && got >= 0; at += (off_t)sizeof piece) {
        got = pread(fd, piece, sizeof piece, at);
    }
    return got < 0 ? errno : 0;
}

/* Opens or creates a file of LMDB's, which LMDB itself would create as the umask leaves it. Returns
 * a descriptor or -errno. */
static int create(const char *directory, const char *name)
{
    char path[512];
    int length = snprintf(path, sizeof path, "%s/%s", directory, name);
    return length < 0 || (size_t)length >= sizeof path ? -ENAMETOOLONG
                                                       : stk_sys_create(path, O_RDWR, 0600);
}

/*
 * Gives the table of readers its full size, and allocates it. LMDB makes it by ftruncate, and on a
 * full file system a new reader's first touch would be a SIGBUS.
 */
static int make_table(const char *directory, unsigned readers)
{
    STK_OWNED_FD int fd = create(directory, "lock.mdb");
    if (fd < 0) {
        return -fd;
    }
    off_t bytes = TABLE_HEAD_BYTES + (off_t)readers * TABLE_READER_BYTES;
    int error = (uint64_t)bytes > room_in_file() ? EFBIG : posix_fallocate(fd, 0, bytes);
    error = error == 0 ? read_table(fd, bytes) : error;
    futimens(fd, NULL); /* the time of the last opening, for store/place.c */
    return error;
}

/* Opens under the write lock: LMDB's first user locks all other processes out until it has made the
 * table. */
static int open_inside(struct stk_env *env, const struct stk_env_options *options)
{
    uint64_t map = stk_map_bytes(env->directory, options->most);
    STK_OWNED_FD int data = create(env->directory, "data.mdb");
    int error = map == 0 ? ENOMEM : data < 0 ? -data : make_table(env->directory, options->readers);
    if (error == 0) {
        do {
            error = try_open(env, env->directory, map, options->readers);
            map /= 4;
        } while (error == ENOMEM && map > options->budget); /* some kernels have few addresses */
    }
    return error;
}

static int open_locked(struct stk_env *env, const struct stk_env_options *options)
{
    int lock = options->at_once ? stk_write_lock_acquire(env->directory, STK_WRITE_LOCK_READERS)
                                : stk_write_lock_wait(env->directory, STK_WRITE_LOCK_READERS);
    int error = lock < 0 ? errno : open_inside(env, options);
    if (lock >= 0) {
        stk_write_lock_release(lock);
    }
    return error;
}

struct stk_env *stk_env_open(const char *directory, const struct stk_env_options *options)
{
    struct stk_env *env = calloc(1, sizeof *env);
    if (env == NULL) {
        return NULL;
    }
    atomic_init(&env->budget, options->budget);
    pthread_mutex_init(&env->table, NULL);
    env->directory = strdup(directory);
    int error = env->directory != NULL ? open_locked(env, options) : ENOMEM;
    if (error != 0) {
        free(env->directory);
        free(env);
        errno = errno_of(error);
        return NULL;
    }
    return env;
}

/* ---- reading ---- */

static MDB_txn *new_reader(struct stk_env *env)
{
    MDB_txn *txn = NULL;
    int lock = enter_table(env);
    if (lock < 0) {
        return NULL;
    }
    if (begin_reading(env->lmdb, &txn) != 0) {
        txn = NULL;
    }
    leave_table(env, lock);
    return txn;
}

/* LMDB detects live readers by file locks. A process whose descriptors were closed looks dead, so
 * writers reuse the pages that it reads: it must not read. */
static MDB_txn *take_reader(struct stk_env *env)
{
    if (!holds_file(env) || !has_heads(env)) {
        return NULL;
    }
    for (size_t i = 0; i < SPARE_READERS; i++) {
        if (atomic_load_explicit(&env->spare[i], memory_order_relaxed) != NULL) {
            MDB_txn *txn = atomic_exchange(&env->spare[i], NULL);
            if (txn != NULL && mdb_txn_renew(txn) == 0) {
                return txn;
            }
            if (txn != NULL) {
                mdb_txn_abort(txn);
            }
        }
    }
    return new_reader(env);
}

static void put_reader(struct stk_env *env, MDB_txn *txn)
{
    mdb_txn_reset(txn);
    for (size_t i = 0; i < SPARE_READERS; i++) {
        MDB_txn *none = NULL;
        if (atomic_compare_exchange_strong(&env->spare[i], &none, txn)) {
            return;
        }
    }
    mdb_txn_abort(txn);
}

/* Finds a name's value, and copies it to `link` unless that is NULL: what a link says may be
 * written over when its reader is gone. */
static bool find(struct stk_env *env, MDB_val name, MDB_val *value, struct stk_hash128 *link)
{
    MDB_txn *txn = take_reader(env);
    if (txn == NULL) {
        return false;
    }
    bool found = has_way(env, mdb_txn_id(txn), STK_BTREE_VALUES, &name) &&
                 mdb_get(txn, env->values, &name, value) == 0 &&
                 (link == NULL || value->mv_size == sizeof *link);
    if (found && link != NULL) {
        memcpy(link, value->mv_data, sizeof *link);
    }
    put_reader(env, txn);
    return found;
}

bool stk_env_find(struct stk_env *env, struct stk_hash128 key, const void **data, size_t *bytes)
{
    MDB_val value;
    bool found = find(env, (MDB_val){sizeof key, &key}, &value, NULL);
    if (found) {
        *data = value.mv_data;
        *bytes = value.mv_size;
    }
    return found;
}

bool stk_env_fetch(const struct stk_env *env, const void *data, size_t bytes)
{
    return !env->on_disk || stk_prefetch_read(data, bytes);
}

/*
 * A value lies on pages of its own (`padded`), and the first page begins with its number in the
 * file. No value is removed, so its pages are never moved or used again. The bytes in the file are
 * compared with the found ones before they are overwritten.
 */
bool stk_env_overwrite(const struct stk_env *env, const void *found, const void *bytes,
                       size_t count)
{
    char there[OVERWRITTEN_BYTES];
    size_t page;
    memcpy(&page, (const char *)found - PAGE_HEAD_BYTES, sizeof page);
    if (count > sizeof there || page >= env->map_bytes / env->page_bytes || !holds_file(env)) {
        return false;
    }
    off_t at = (off_t)(page * env->page_bytes + PAGE_HEAD_BYTES);
    return pread(env->fd, there, count, at) == (ssize_t)count && memcmp(there, found, count) == 0 &&
           pwrite(env->fd, bytes, count, at) == (ssize_t)count;
}

bool stk_env_follow(struct stk_env *env, struct stk_hash128 from, struct stk_hash128 *to)
{
    struct link_name link = {from, 'l'};
    MDB_val value;
    return find(env, (MDB_val){sizeof link, &link}, &value, to);
}

/* ---- room ---- */

static size_t padded(const struct stk_env *env, size_t bytes)
{
    size_t least = env->page_bytes - PAGE_HEAD_BYTES;
    return bytes < least ? least : bytes;
}

/* Returns the pages of a padded value. */
static uint64_t pages_of(const struct stk_env *env, size_t bytes)
{
    return (bytes + PAGE_HEAD_BYTES + env->page_bytes - 1) / env->page_bytes;
}

uint64_t stk_env_used_bytes(struct stk_env *env)
{
    MDB_envinfo info;
    if (!has_heads(env)) {
        return env->map_bytes; /* nothing can be written */
    }
    mdb_env_info(env->lmdb, &info);
    return ((uint64_t)info.me_last_pgno + 1) * env->page_bytes;
}

static uint64_t pages_for_links(struct stk_env *env)
{
    uint64_t share = atomic_load_explicit(&env->budget, memory_order_relaxed) / LINKS_SHARE;
    return (share < BYTES_FOR_LINKS ? share : BYTES_FOR_LINKS) / env->page_bytes;
}

static bool is_within(struct stk_env *env, uint64_t bytes)
{
    return bytes <= atomic_load_explicit(&env->budget, memory_order_relaxed) &&
           bytes <= env->map_bytes;
}

bool stk_env_has_room(struct stk_env *env, size_t bytes)
{
    if (bytes > env->map_bytes) {
        return false;
    }
    uint64_t pages =
        pages_of(env, padded(env, bytes)) + UINT64_C(2) * PAGES_BESIDES + pages_for_links(env);
    return is_within(env, stk_env_used_bytes(env) + pages * env->page_bytes);
}

void stk_env_set_budget(struct stk_env *env, uint64_t budget)
{
    atomic_store_explicit(&env->budget, budget, memory_order_relaxed);
}

/* ---- writing ---- */

static bool has_room(struct stk_env *env, uint64_t pages)
{
    uint64_t wanted = stk_env_used_bytes(env) + (env->added_pages + pages) * env->page_bytes;
    return is_within(env, wanted) && wanted <= room_in_file();
}

/* Returns true if LMDB may search the free pages, which it does from the first one on. */
static bool may_write(struct stk_env *env)
{
    static const size_t first;
    const MDB_val name = {sizeof first, (void *)(uintptr_t)&first};
    return can_write(env, STK_BTREE_FREE, &name);
}

static void count_tree(struct stk_env *env)
{
    MDB_stat stat = {0};
    mdb_stat(env->writing, env->values, &stat);
    env->tree_pages = stat.ms_branch_pages + stat.ms_leaf_pages;
    env->added_links = 0;
}

/* Returns the pages that so many links can dirty. */
static uint64_t pages_of_links(const struct stk_env *env, uint64_t links)
{
    uint64_t each = links * PAGES_A_LINK, all = env->tree_pages + 2 * links;
    return each < all ? each : all;
}

static void drop_dead_readers(struct stk_env *env)
{
    int dead, lock = enter_table(env);
    if (lock >= 0) {
        mdb_reader_check(env->lmdb, &dead);
        leave_table(env, lock);
    }
}

bool stk_env_begin(struct stk_env *env)
{
    env->added_pages = PAGES_BESIDES;
    if (!has_room(env, 0)) {
        return false;
    }
    if (env->begun++ % TRANSACTIONS_A_CHECK == 0) {
        drop_dead_readers(env);
    }
    if (mdb_txn_begin(env->lmdb, NULL, 0, &env->writing) != 0) {
        return false;
    }
    if (!may_write(env)) {
        mdb_txn_abort(env->writing);
        env->writing = NULL;
        return false;
    }
    count_tree(env);
    return true;
}

static void fill_value(void *to, size_t bytes, const struct stk_env_parts *parts)
{
    size_t used = parts->head_bytes + parts->body_bytes;
    memcpy(to, parts->head, parts->head_bytes);
    memcpy((char *)to + parts->head_bytes, parts->body, parts->body_bytes);
    memset((char *)to + used, 0, bytes - used);
}

bool stk_env_add(struct stk_env *env, struct stk_hash128 key, const struct stk_env_parts *parts)
{
    size_t bytes = padded(env, parts->head_bytes + parts->body_bytes);
    uint64_t pages = pages_of(env, bytes) + PAGES_BESIDES;
    if (!has_room(env, pages + pages_for_links(env))) {
        return false;
    }
    MDB_val name = {sizeof key, &key}, value = {bytes, NULL};
    int error =
        can_write(env, STK_BTREE_VALUES, &name)
            ? mdb_put(env->writing, env->values, &name, &value, MDB_NOOVERWRITE | MDB_RESERVE)
            : EIO;
    if (error == 0) {
        fill_value(value.mv_data, bytes, parts);
        env->added_pages += pages;
    }
    return error == 0 || error == MDB_KEYEXIST;
}

bool stk_env_link(struct stk_env *env, struct stk_hash128 from, struct stk_hash128 to)
{
    struct link_name link = {from, 'l'};
    MDB_val name = {sizeof link, &link}, value = {sizeof to, &to};
    uint64_t pages =
        pages_of_links(env, env->added_links + 1) - pages_of_links(env, env->added_links);
    if (!has_room(env, pages)) {
        return false;
    }
    env->added_links++;
    env->added_pages += pages;
    return can_write(env, STK_BTREE_VALUES, &name) &&
           mdb_put(env->writing, env->values, &name, &value, 0) == 0;
}

bool stk_env_end(struct stk_env *env)
{
    MDB_txn *txn = env->writing;
    env->writing = NULL;
    if (!holds_file(env)) { /* the file is written only now */
        mdb_txn_abort(txn);
        return false;
    }
    return mdb_txn_commit(txn) == 0;
}
