/* Remembers directories without any covered path above or below. */
#include "preload/coverage/outside.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "base/path.h"
#include "base/sys.h"
#include "preload/coverage/process.h"

#define SLOTS 256

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

static _Atomic uint64_t cwd_number = 1; /* counted up by every change */
static _Atomic uint64_t outside_cwd;    /* the number at which it was found outside */
static _Atomic uint64_t outside_directories[SLOTS];

/* The owner's process number, on a page that a child of fork finds zeroed, but a child of vfork
 * does not. */
static _Atomic(_Atomic uint32_t *) owner;

static bool is_vfork_child(void)
{
    _Atomic uint32_t *page = atomic_load(&owner), *none = NULL;
    uint32_t seen = 0, pid = (uint32_t)stk_sys_getpid();
    if (page == NULL) {
        page = stk_sys_memory(4096);
        if (page == NULL || stk_sys_madvise(page, 4096, MADV_WIPEONFORK) != 0) {
            return true; /* unknown: remember nothing */
        }
        page = atomic_compare_exchange_strong(&owner, &none, page) ? page : none;
    }
    return !atomic_compare_exchange_strong(page, &seen, pid) && seen != pid;
}

/* Returns which paths are known to be covered. With the cache set up there are more of them: real
 * paths, beside those spelled through links. A directory outside before may not be outside then. */
static uint64_t knowledge(void)
{
    return stk_process_cache_if_ready() != NULL ? 1 : 0;
}

static uint64_t hash_directory(int dirfd)
{
    struct stat stat;
    if (stk_sys_fstat(dirfd, &stat) != 0 || !S_ISDIR(stat.st_mode)) {
        return 0;
    }
    const uint64_t parts[] = {stat.st_dev, stat.st_ino};
    return stk_hash_64(parts, sizeof parts, knowledge());
}

bool stk_outside_is_cwd_known(void)
{
    uint64_t number = atomic_load_explicit(&cwd_number, memory_order_acquire) << 1 | knowledge();
    return atomic_load_explicit(&outside_cwd, memory_order_acquire) == number;
}

bool stk_outside_is_known(int dirfd, struct stk_outside_key *key)
{
    key->is_cwd = dirfd == AT_FDCWD;
    if (key->is_cwd) {
        key->value = atomic_load_explicit(&cwd_number, memory_order_acquire) << 1 | knowledge();
        return atomic_load_explicit(&outside_cwd, memory_order_acquire) == key->value;
    }
    key->value = hash_directory(dirfd);
    return key->value != 0 && atomic_load_explicit(&outside_directories[key->value % SLOTS],
                                                   memory_order_relaxed) == key->value;
}

static bool is_outside(const char *directory)
{
    struct stk_cache *cache = stk_process_cache_if_ready();
    const struct stk_roots *roots = cache != NULL ? &cache->roots : stk_process_spelling();
    if (directory[1] == '\0') {
        return false; /* "/" is above everything */
    }
    for (unsigned i = 0; i < roots->count; i++) {
        const char *prefix = roots->roots[i].prefix;
        if (stk_path_below(directory, prefix) != NULL ||
            stk_path_below(prefix, directory) != NULL) {
            return false;
        }
    }
    return true;
}

bool stk_outside_learn(const struct stk_outside_key *key, const char *directory)
{
    if (!is_outside(directory)) {
        return false;
    }
    if (!key->is_cwd) {
        atomic_store_explicit(&outside_directories[key->value % SLOTS], key->value,
                              memory_order_relaxed);
    } else if (!is_vfork_child()) {
        atomic_store_explicit(&outside_cwd, key->value, memory_order_release);
    }
    return true;
}

void stk_outside_forget_cwd(void)
{
    atomic_fetch_add(&cwd_number, 1);
}
