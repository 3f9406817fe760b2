#include "cli/tiers/known_stores.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/options.h"
#include "base/samples.h"
#include "base/walk.h"
#include "cache/catalogue/budget.h"
#include "cli/os/descriptors.h"
#include "cli/out/say.h"
#include "cli/tiers/known_list.h"

/* ---- which directories ---- */

/* Returns true for a directory in which only this user makes names. */
static bool is_own(const char *path)
{
    struct stat stat_;
    return lstat(path, &stat_) == 0 && S_ISDIR(stat_.st_mode) && stat_.st_uid == geteuid() &&
           (stat_.st_mode & 022) == 0;
}

static const struct known_kind directories = {"decoded", is_own};

/* Returns the canonical directory of "DIR[:SIZE]", of which the last part may be missing, or NULL.
 * The caller frees. */
static char *directory_of(const char *value)
{
    int64_t bytes;
    size_t length;
    stk_option_split_place(value, &length, &bytes);
    OWNED char *named = must_format("%.*s", (int)length, value);
    bool is_path = strchr(named, '/') != NULL;
    char *canonical = is_path ? realpath(named, NULL) : NULL;
    if (is_path && canonical == NULL && *value == '/') {
        canonical = must_copy(named);
    }
    return canonical;
}

void stores_remember(const char *value)
{
    OWNED char *directory = directory_of(value);
    if (directory != NULL) {
        known_list_remember(&directories, directory);
    }
}

/* ---- what lies in one ---- */

/* Opens the table of a store's users. Returns -1 for a directory that is no store. */
static int open_table(int directory, const char *name)
{
    char table[300];
    snprintf(table, sizeof table, "%s/lock.mdb", name);
    return stk_samples_is_name(name) ? openat(directory, table, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
                                     : -1;
}

/* Returns true if a process has the store of this table open: LMDB's users hold a lock on it. */
static bool is_used(int table)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    return fcntl(table, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static int add_blocks(void *bytes, int dirfd, const char *name, const struct stat *stat)
{
    (void)dirfd, (void)name;
    *(uint64_t *)bytes += (uint64_t)stat->st_blocks * STK_BLOCK_BYTES;
    return 0;
}

/* Calls `visit` for each store of a directory, with its path. */
static void each_of(const char *directory,
                    void (*visit)(const char *path, bool used, void *context), void *context)
{
    OWNED_DIR DIR *names = is_own(directory) ? opendir(directory) : NULL;
    for (const struct dirent *each; names != NULL && (each = readdir(names)) != NULL;) {
        int table = open_table(dirfd(names), each->d_name);
        if (table >= 0) {
            OWNED char *path = must_format("%s/%s", directory, each->d_name);
            visit(path, is_used(table), context);
            close(table);
        }
    }
}

static void measure(const char *path, bool used, void *context)
{
    struct known_store *store = context;
    stk_walk(path, add_blocks, &store->bytes);
    store->used = store->used || used;
}

void stores_each(void (*visit)(const struct known_store *store, void *context), void *context)
{
    static struct known_list list;
    const char *value = stk_option_value(STK_OPTION_SAMPLES);
    OWNED char *set = value != NULL ? directory_of(value) : NULL;
    list.count = 0;
    if (set != NULL) {
        known_list_add(&list, &directories, set);
    }
    known_list_add_remembered(&list, &directories);
    for (unsigned i = 0; i < list.count; i++) {
        struct known_store store = {.directory = list.paths[i]};
        each_of(store.directory, measure, &store);
        if (store.bytes > 0) {
            visit(&store, context);
        }
    }
}

static void remove_one(const char *path, bool used, void *context)
{
    uint64_t bytes = 0;
    stk_walk(path, add_blocks, &bytes);
    if (!used && stk_walk_remove(path) == 0) {
        *(uint64_t *)context += bytes;
    }
}

uint64_t stores_remove(const char *directory)
{
    uint64_t bytes = 0;
    each_of(directory, remove_one, &bytes);
    return bytes;
}
