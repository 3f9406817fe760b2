/* Prepares a file once for the locks that a process takes of it. */
#include "preload/change/posix_lock.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/sys.h"
#include "preload/change/change.h"
#include "preload/change/restore.h"
#include "preload/coverage/cover.h"
#include "preload/coverage/entry_origin.h"
#include "preload/coverage/entryfd.h"
#include "preload/coverage/process.h"
#include "preload/interpose/guard.h"

#define SLOTS 64

/* Hashes of the files that this process, or one it was forked from, has prepared. A slot is
 * overwritten by the next file that hashes to it, which costs that file's work again. */
static _Atomic uint64_t prepared[SLOTS];

static uint64_t hash_of(const struct stat *stat)
{
    const uint64_t parts[] = {stat->st_dev, stat->st_ino};
    return stk_hash_64(parts, sizeof parts, 1);
}

static bool is_prepared(const struct stat *stat)
{
    uint64_t hash = hash_of(stat);
    return atomic_load(&prepared[hash % SLOTS]) == hash;
}

/* Notes the file as written, and makes this process's descriptors of its entries the origin's. `fd`
 * is the origin's. A function of its own, since it needs much stack. */
static __attribute__((noinline)) void prepare(int fd, const struct stat *stat)
{
    char path[STK_PATH_BYTES];
    struct stk_write write;
    uint64_t hash = hash_of(stat);
    if (stk_cover_fd_path(fd, path)) {
        stk_write_before(&write, AT_FDCWD, path);
        stk_write_after(&write, true, fd, AT_FDCWD, path);
        atomic_store(&prepared[hash % SLOTS], hash);
    }
}

static void prepare_entry(int fd)
{
    struct stk_entry_origin origin;
    struct stat stat;
    if (stk_entry_origin_open(fd, &origin) && origin.fd >= 0) {
        if (stk_sys_fstat(origin.fd, &stat) == 0) {
            prepare(origin.fd, &stat);
        }
        stk_sys_close(origin.fd);
    }
}

/* Prepares a file by the origin's own descriptor: an entry may be open by another number, or be
 * opened later. A process without a cache has opened no covered file. */
static void prepare_origin(int fd, const struct stat *stat)
{
    struct stk_cache *cache = stk_process_cache_if_ready();
    if (cache != NULL && S_ISREG(stat->st_mode) && !is_prepared(stat) &&
        (stk_entryfd_has_noted(stat->st_ino) || stk_cover_has_fd(cache, fd, stat))) {
        prepare(fd, stat);
    }
}

void stk_posix_lock_before(int fd)
{
    struct stk_guard guard;
    struct stat stat = {.st_mode = 0};
    if (!stk_process_is_on()) {
        return;
    }
    bool may_be_entry = stk_entryfd_looks_so(fd, &stat);
    stk_guard_join(&guard);
    if (may_be_entry) {
        prepare_entry(fd);
    } else {
        prepare_origin(fd, &stat);
    }
    stk_guard_leave(&guard);
    if (may_be_entry) {
        stk_restore_for_lock(fd, false);
    }
}
