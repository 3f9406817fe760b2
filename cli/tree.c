/* The entries of a tier. See cli/tree.h. */
#include "cli/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/proc.h"
#include "base/walk.h"
#include "cache/entry.h"
#include "cli/paths.h"

static void root_path(char *out, size_t bytes, const char *tier_home, const char *root)
{
    snprintf(out, bytes, "%s/tree/%s", tier_home, root);
}

void tree_each_root(const char *tier_home,
                    void (*visit)(const char *tier_home, const char *root, void *context),
                    void *context)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/tree", tier_home);
    DIR *roots = opendir(path);
    struct dirent *entry;
    while (roots != NULL && (entry = readdir(roots)) != NULL) {
        if (entry->d_name[0] != '.') {
            visit(tier_home, entry->d_name, context);
        }
    }
    if (roots != NULL) {
        closedir(roots);
    }
}

static bool is_entry(const char *name, const struct stat *stat)
{
    return S_ISREG(stat->st_mode) && strlen(name) > STK_ENTRY_DIGITS &&
           name[STK_ENTRY_DIGITS] == ';';
}

static int measure_one(void *context, int dirfd, const char *name, unsigned depth,
                       const struct stat *stat)
{
    struct tree_content *content = context;
    (void)dirfd;
    (void)depth;
    if (is_entry(name, stat)) {
        content->files++;
        content->bytes += (uint64_t)stat->st_size;
    }
    return 0;
}

void tree_measure(const char *tier_home, const char *root, struct tree_content *out)
{
    char path[4096];
    *out = (struct tree_content){0, 0};
    root_path(path, sizeof path, tier_home, root);
    stk_walk(path, measure_one, out);
}

void tree_origin(const char *tier_home, const char *root, char *out, size_t bytes)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/tree/%s/;origin", tier_home, root);
    if (stk_proc_read_text(path, out, bytes) < 0) {
        out[0] = '\0';
    }
}

static int remove_one(void *context, int dirfd, const char *name, unsigned depth,
                      const struct stat *stat)
{
    (void)depth;
    if (S_ISDIR(stat->st_mode)) {
        unlinkat(dirfd, name, AT_REMOVEDIR);
    } else if (unlinkat(dirfd, name, 0) == 0 && is_entry(name, stat)) {
        ++*(uint64_t *)context;
    }
    return 0;
}

/* Removes the versions of one file: the entries in its directory that end in its name. */
static uint64_t remove_versions(const char *directory, const char *leaf)
{
    uint64_t removed = 0;
    DIR *entries = opendir(directory);
    struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        const char *name = entry->d_name;
        if (strlen(name) > STK_ENTRY_DIGITS && name[STK_ENTRY_DIGITS] == ';' &&
            strcmp(name + STK_ENTRY_DIGITS + 1, leaf) == 0) {
            removed += unlinkat(dirfd(entries), name, 0) == 0;
        }
    }
    if (entries != NULL) {
        closedir(entries);
    }
    return removed;
}

static uint64_t remove_below(const char *root, const char *below)
{
    char path[8192];
    uint64_t removed = 0;
    snprintf(path, sizeof path, "%s/%s", root, below);
    if (*below == '\0' || stk_walk(path, remove_one, &removed) == 0) {
        if (*below == '\0') {
            stk_walk(root, remove_one, &removed);
        }
        rmdir(*below == '\0' ? root : path);
        return removed;
    }
    *strrchr(path, '/') = '\0';
    return remove_versions(path, stk_path_leaf(below));
}

uint64_t tree_remove(const char *tier_home, const char *root, const char *path)
{
    char directory[4096], origin[4096];
    root_path(directory, sizeof directory, tier_home, root);
    tree_origin(tier_home, root, origin, sizeof origin);
    if (*origin == '\0') {
        return 0;
    }
    if (paths_is_below(origin, path)) {
        return remove_below(directory, "");
    }
    const char *below = stk_path_below(path, origin);
    return below != NULL ? remove_below(directory, below) : 0;
}

struct giving {
    uint64_t bytes, wanted;
};

static int give_one(void *context, int dirfd, const char *name, unsigned depth,
                    const struct stat *stat)
{
    struct giving *giving = context;
    (void)depth;
    if (is_entry(name, stat) && unlinkat(dirfd, name, 0) == 0) {
        giving->bytes += (uint64_t)stat->st_blocks * STK_BLOCK_BYTES;
    }
    return giving->bytes >= giving->wanted;
}

uint64_t tree_give_back(const char *tier_home, uint64_t bytes)
{
    char path[4096];
    struct giving giving = {.bytes = 0, .wanted = bytes};
    snprintf(path, sizeof path, "%s/tree", tier_home);
    stk_walk(path, give_one, &giving);
    return giving.bytes;
}
