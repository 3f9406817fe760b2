/* Looks at the entries of a tier, and removes them. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/path.h"
#include "cache/tier/tier.h"

struct entries_content {
    uint64_t files, bytes; /* of the files that have entries */
};

/* Calls `visit` for the directory of each root in a tier, as a path below the tree. Nested roots
 * are one: the outermost. */
void entries_each_root(const char *tier_home,
                       void (*visit)(const char *tier_home, const char *root, void *context),
                       void *context);
/* Returns true for a name that an entry may have. */
bool entries_is_name(const char *name);
/* Returns how many files all functions here have counted or removed so far, for a line of progress.
 * Any thread may call it. */
uint64_t entries_passed(void);
/* Counts the entries of a root, by several threads. */
void entries_measure(const char *tier_home, const char *root, struct entries_content *out);
/* Reads the directory that a root's entries come from; "" if it is not noted. */
void entries_origin(const char *tier_home, const char *root, char *out, size_t bytes);
/* Writes the path of `name`, which a walk has met in the directory open as `dirfd`. Returns false
 * if the path is too long. */
bool entries_path_of(char out[STK_PATH_BYTES], int dirfd, const char *name);
/* Removes the entries of the files below `path` (canonical), by several threads, from a root that
 * contains `path` or lies below it. Returns how many entries went. */
uint64_t entries_remove(const struct stk_tier *tier, const char *root, const char *path);
/* Removes the entries below a path of a root, both by the names they have in a tier (a path of ""
 * is the root). Returns how many entries went. */
uint64_t entries_remove_place(const struct stk_tier *tier, const char *root, const char *below);
/* Removes the entries of roots that have names of an older form: no process finds them. Does not
 * give back what they took: a count of the tier must follow. Ends early when `stop` is set. */
void entries_remove_old(const char *tier_home, atomic_bool *stop);
/* Removes the blocks of all big files that are not complete yet. */
void entries_remove_blocks(const struct stk_tier *tier);
/* Gives back to a tier, attached or not, what removed files took of its budget. */
void entries_give_back(const struct stk_tier *tier, int64_t blocks, int64_t inodes);
