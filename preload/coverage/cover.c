/* Finds whether a path is covered: first by its spelling, then by the kernel's own view of it. */
#include "preload/coverage/cover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>

#include "base/hash.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/text.h"
#include "preload/coverage/outside.h"
#include "preload/coverage/process.h"

#define REACHED_SLOTS 256

#ifndef AT_STATX_DONT_SYNC
#define AT_STATX_DONT_SYNC 0x4000
#endif

bool stk_cover_may(const char *path)
{
    const char *rest;
    if (stk_path_is_missing(path) || !stk_process_is_on()) {
        return false;
    }
    if (path[0] != '/') {
        return path[0] != '\0';
    }
    struct stk_cache *cache = stk_process_cache_if_ready();
    const struct stk_roots *roots = cache != NULL ? &cache->roots : stk_process_spelling();
    return stk_roots_match(roots, path, &rest) != NULL;
}

bool stk_cover_may_at(int dirfd, const char *path)
{
    if (!stk_path_is_missing(path) && path[0] != '/' && dirfd == AT_FDCWD &&
        stk_outside_is_cwd_known()) {
        return false;
    }
    return stk_cover_may(path);
}

static bool has_parent_component(const char *path)
{
    for (const char *at = path; (at = strstr(at, "..")) != NULL; at += 2) {
        if ((at == path || at[-1] == '/') && (at[2] == '/' || at[2] == '\0')) {
            return true;
        }
    }
    return false;
}

bool stk_cover_may_change(const char *path)
{
    return stk_cover_may(path) ||
           (!stk_path_is_missing(path) && stk_process_is_on() && has_parent_component(path));
}

bool stk_cover_fd_path(int fd, char out[STK_PATH_BYTES])
{
    char link[32];
    stk_proc_fd_path(link, fd);
    ssize_t length = stk_sys_readlinkat(AT_FDCWD, link, out, STK_PATH_BYTES - 1);
    if (length <= 0 || out[0] != '/') {
        return false;
    }
    out[length] = '\0';
    return true;
}

bool stk_cover_directory_path(int dirfd, char out[STK_PATH_BYTES])
{
    if (dirfd != AT_FDCWD) {
        return stk_cover_fd_path(dirfd, out);
    }
    return stk_sys_getcwd(out, STK_PATH_BYTES) > 0 && out[0] == '/';
}

/* Places a path in the cache, as a file or as a directory. */
typedef bool placing(struct stk_cache *cache, const char *absolute, int dirfd, const char *path,
                     struct stk_place *place);

static struct stk_cache *cover_absolute(placing *as, const char *absolute, int dirfd,
                                        const char *path, struct stk_place *place)
{
    const char *rest;
    /* The spelling comes first: a relative path outside every root needs no cache set up. */
    struct stk_cache *cache = stk_process_cache_if_ready();
    if (cache == NULL) {
        if (stk_roots_match(stk_process_spelling(), absolute, &rest) == NULL) {
            return NULL;
        }
        cache = stk_process_cache();
    }
    return cache != NULL && as(cache, absolute, dirfd, path, place) ? cache : NULL;
}

/* Covers a path below a directory, whose path is in place->below. The rest is appended there,
 * before place->below becomes what its name says: a thread may have too little stack for another
 * buffer. */
static struct stk_cache *cover_below(placing *as, int dirfd, const char *path,
                                     struct stk_place *place)
{
    char *absolute = place->below;
    struct stk_text text = {.start = absolute, .used = strlen(absolute), .room = STK_PATH_BYTES};
    stk_text_add_char(&text, '/');
    stk_text_add(&text, path);
    return text.cut ? NULL : cover_absolute(as, absolute, dirfd, path, place);
}

/* ---- directories that a mount hides ---- */

/* Hashes of directories to which their paths were seen to lead. */
static _Atomic uint64_t reached[REACHED_SLOTS];

static bool same_directory(int dirfd, const char *path)
{
    struct statx stat;
    const int flags = AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
    if (stk_sys_statx(dirfd, "", flags | AT_EMPTY_PATH, STATX_INO, &stat) != 0) {
        return false;
    }
    uint64_t ino = stat.stx_ino;
    uint32_t major = stat.stx_dev_major, minor = stat.stx_dev_minor;
    return stk_sys_statx(AT_FDCWD, path, flags, STATX_INO, &stat) == 0 && stat.stx_ino == ino &&
           stat.stx_dev_major == major && stat.stx_dev_minor == minor;
}

/* Returns true if the path of a directory that is open, or the working one, leads to it. It does
 * not if something was mounted over it since, if it is of another mount namespace, or if it lies
 * outside of a changed root directory. Then its files are not those of that path. */
static __attribute__((noinline)) bool is_reached(int dirfd, const char *path,
                                                 const struct stk_outside_key *key)
{
    uint64_t hash = stk_hash_64(path, strlen(path), key->value) | 1;
    _Atomic uint64_t *slot = &reached[(hash >> 1) % REACHED_SLOTS];
    if (key->value != 0 && atomic_load_explicit(slot, memory_order_relaxed) == hash) {
        return true;
    }
    if (!same_directory(dirfd, path)) {
        return false;
    }
    atomic_store_explicit(slot, key->value != 0 ? hash : 0, memory_order_relaxed);
    return true;
}

static struct stk_cache *cover_relative(placing *as, int dirfd, const char *path,
                                        const struct stk_outside_key *key, struct stk_place *place)
{
    if (!stk_cover_directory_path(dirfd, place->below) || stk_outside_learn(key, place->below) ||
        !is_reached(dirfd, place->below, key)) {
        return NULL;
    }
    return cover_below(as, dirfd, path, place);
}

static inline struct stk_cache *cover(placing *as, int dirfd, const char *path,
                                      struct stk_place *place)
{
    struct stk_outside_key key;
    if (path[0] == '/') {
        return cover_absolute(as, path, dirfd, path, place);
    }
    return stk_outside_is_known(dirfd, &key) ? NULL : cover_relative(as, dirfd, path, &key, place);
}

struct stk_cache *stk_cover(int dirfd, const char *path, struct stk_place *place)
{
    return cover(stk_cache_place, dirfd, path, place);
}

struct stk_cache *stk_cover_directory(int dirfd, const char *path, struct stk_place *place)
{
    return cover(stk_cache_place_directory, dirfd, path, place);
}

/* ---- changes ---- */

bool stk_cover_is_no_change(int error)
{
    return error == -ENOENT || error == -ENOTDIR || error == -ELOOP || error == -ENAMETOOLONG ||
           error == -EBADF || error == -EFAULT;
}

enum found { NOWHERE, HERE, UNKNOWN };

/* Finds the path of the directory that holds the file, as the kernel knows it; "" stands for
 * dirfd. */
static enum found real_directory(int dirfd, const char *path, size_t length,
                                 char out[STK_PATH_BYTES])
{
    if (length == 0) {
        return stk_cover_directory_path(dirfd, out) ? HERE : UNKNOWN;
    }
    struct stk_text text = stk_text_in(out, STK_PATH_BYTES);
    stk_text_add_bytes(&text, path, length);
    int fd =
        text.cut ? -ENAMETOOLONG : stk_sys_openat(dirfd, out, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0) {
        return stk_cover_is_no_change(fd) ? NOWHERE : UNKNOWN;
    }
    bool known = stk_cover_fd_path(fd, out);
    stk_sys_close(fd);
    return known ? HERE : UNKNOWN;
}

static struct stk_cache *cover_change(int dirfd, const char *path, struct stk_place *place)
{
    bool has_parent = has_parent_component(path);
    const char *leaf = has_parent ? stk_path_leaf(path) : path;
    if (path[0] == '/' && !has_parent) {
        return cover_absolute(stk_cache_place, path, dirfd, path, place);
    }
    switch (real_directory(dirfd, path, (size_t)(leaf - path), place->below)) {
    case HERE:
        return cover_below(stk_cache_place, dirfd, leaf, place);
    case UNKNOWN:
        place->root = NULL;
        return stk_process_cache_if_ready();
    default:
        return NULL;
    }
}

struct stk_cache *stk_cover_change(int dirfd, const char *path, struct stk_place *place)
{
    struct stk_cache *cache = cover_change(dirfd, path, place);
    if (cache == NULL) {
        stk_process_note_missed();
    }
    return cache;
}

static bool has_device(const struct stk_roots *roots, dev_t dev)
{
    for (unsigned i = 0; i < roots->count; i++) {
        if (roots->roots[i].usable && roots->roots[i].dev == dev) {
            return true;
        }
    }
    return false;
}

static bool has_path(const struct stk_roots *roots, const char *path)
{
    for (unsigned i = 0; i < roots->count; i++) {
        const struct stk_root *root = &roots->roots[i];
        if (root->usable && stk_path_below(path, root->canonical) != NULL) {
            return true;
        }
    }
    return false;
}

/* Apart, since it needs much stack. */
__attribute__((noinline)) bool stk_cover_has_fd(struct stk_cache *cache, int fd,
                                                const struct stat *stat)
{
    char path[STK_PATH_BYTES];
    if (!has_device(&cache->roots, stat->st_dev) && !has_device(&cache->outer, stat->st_dev)) {
        return false;
    }
    if (!stk_cover_fd_path(fd, path)) {
        return true; /* perhaps */
    }
    return has_path(&cache->roots, path) || has_path(&cache->outer, path);
}

/* ---- names that are not covered ---- */

/* The devices of the roots as they are spelled, plus one; 0: the kernel was not asked yet. */
static _Atomic uint64_t spelled_devices[STK_ROOTS], outer_devices[STK_ROOTS];

static bool is_device_of(const struct stk_roots *roots, _Atomic uint64_t devices[STK_ROOTS],
                         dev_t dev)
{
    for (unsigned i = 0; i < roots->count; i++) {
        struct stat stat;
        uint64_t known = atomic_load_explicit(&devices[i], memory_order_relaxed);
        if (known == 0) {
            int error = stk_sys_fstatat(AT_FDCWD, roots->roots[i].prefix, &stat, 0);
            known = error == 0 ? (uint64_t)stat.st_dev + 1 : UINT64_MAX;
            atomic_store_explicit(&devices[i], known, memory_order_relaxed);
        }
        if (known == (uint64_t)dev + 1) {
            return true;
        }
    }
    return false;
}

static bool is_spelled_device(dev_t dev)
{
    return is_device_of(stk_process_spelling(), spelled_devices, dev) ||
           is_device_of(stk_process_outer_spelling(), outer_devices, dev);
}

struct stk_cache *stk_cover_cache_for_device(dev_t dev)
{
    struct stk_cache *cache = stk_process_cache_if_ready();
    if (cache == NULL && is_spelled_device(dev)) {
        cache = stk_process_cache();
        if (cache == NULL) {
            stk_process_note_missed();
        }
    }
    return cache;
}

/* Finds the real path of a name. With AT_SYMLINK_NOFOLLOW its last component may be a link. */
static bool real_path(int dirfd, const char *path, int flags, char out[STK_PATH_BYTES])
{
    int follow = (flags & AT_SYMLINK_NOFOLLOW) != 0 ? O_NOFOLLOW : 0;
    STK_OWNED_FD int fd = stk_sys_openat(dirfd, path, O_PATH | O_CLOEXEC | follow, 0);
    return fd >= 0 && stk_cover_fd_path(fd, out);
}

static bool is_near(const char *path, const char *root)
{
    return stk_path_below(path, root) != NULL || stk_path_below(root, path) != NULL;
}

static bool is_near_any(const struct stk_roots *roots, const char *path)
{
    for (unsigned i = 0; i < roots->count; i++) {
        const struct stk_root *root = &roots->roots[i];
        if (is_near(path, root->prefix) || is_near(path, root->canonical)) {
            return true;
        }
    }
    return false;
}

/* Apart, since it needs much stack, and most changes do not need it. */
__attribute__((noinline)) bool stk_cover_leads_near(const struct stk_cache *cache, int dirfd,
                                                    const char *path, int flags)
{
    char real[STK_PATH_BYTES];
    if (!real_path(dirfd, path, flags, real)) {
        return true; /* perhaps */
    }
    return is_near_any(&cache->roots, real) || is_near_any(&cache->outer, real);
}
