/* Looking at, and removing from, the entries of a tier. */
#ifndef STK_CLI_TREE_H
#define STK_CLI_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/path.h"
#include "cache/tier.h"

struct tree_content {
    uint64_t files, bytes; /* of files' entries */
};

/* Calls `visit` for the directory of each root in a tier. */
void tree_each_root(const char *tier_home,
                    void (*visit)(const char *tier_home, const char *root, void *context),
                    void *context);
/* Counts the entries of a root. */
void tree_measure(const char *tier_home, const char *root, struct tree_content *out);
/* Reads which directory a root's entries come from; "" when it is not noted. */
void tree_origin(const char *tier_home, const char *root, char *out, size_t bytes);
/* The path of what a walk has met, by the descriptor of its directory; false when it is too long.
 */
bool tree_path_of(char out[STK_PATH_BYTES], int dirfd, const char *name);
/* Removes the entries of `path`'s (canonical) files from a root that holds or lies in it; returns
 * how many files went. */
uint64_t tree_remove(const struct stk_tier *tier, const char *root, const char *path);
/* Removes the blocks of all big files that are not whole yet. */
void tree_remove_blocks(const struct stk_tier *tier);
#endif
