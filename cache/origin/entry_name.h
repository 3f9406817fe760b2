/*
 * The path of an entry names the file and the version that it is a copy of:
 *
 *   HOME/tree/ROOT/dir/3f2a91c07bd4;leaf       origin: ROOT's directory + /dir/leaf
 *
 * ROOT is the root's name, which is a path: its volume, and where it lies there (root.h). So an
 * entry of a nested root is one of the root around it.
 *
 * The 12 hexadecimal digits name the version (cache/catalogue/identity.h). A directory's listing
 * has no leaf (cache/listing/listing.h). No heap; safe in threads, after fork and in signal
 * handlers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/path.h"
#include "cache/origin/root.h"

#define STK_ENTRY_TREE       "/tree/"
#define STK_ENTRY_NOTE       ";origin" /* in a root's directory: the path of the origin, for people */
#define STK_ENTRY_DIGITS     12
#define STK_ENTRY_MODE       0400
#define STK_ENTRY_LEAF_LIMIT 242 /* a longer name does not fit with the digits: 255 bytes */

/* Writes "HOME/tree/ROOT/". Returns its length, or 0 if it does not fit. */
size_t stk_entry_tree(char *out, size_t bytes, const char *home, const struct stk_root *root);
/* Writes the path of an entry. `below` is folded, without a slash at its start. Returns false if
 * the path does not fit. Part of every hit. */
bool stk_entry_path(char out[STK_PATH_BYTES], const char *home, const struct stk_root *root,
                    const char *below, uint64_t name);
/* Writes the path of an entry in a tree that stk_entry_tree has written. */
bool stk_entry_path_in(char out[STK_PATH_BYTES], const char *tree, size_t tree_length,
                       const char *below, uint64_t name);
/* Writes the path of an entry below any tier's tree: "ROOT/dir/3f2a91c07bd4;leaf". Returns false if
 * the path does not fit. */
bool stk_entry_path_below_tree(char *out, size_t bytes, const struct stk_root *root,
                               const char *below, uint64_t name);

struct stk_entry_parts {
    char file[STK_PATH_BYTES]; /* the root's name and the path below it: "ROOT/dir/leaf" */
    uint64_t name;             /* of the version */
    bool listing;              /* the entry is a directory's listing */
};
/* Takes an entry's path apart. Returns false if the path is not one of an entry in this home. Which
 * root it is of, the process's roots say (stk_roots_by_name). */
bool stk_entry_parse(const char *path, const char *home, struct stk_entry_parts *out);

/* Returns true if a thing found in a tree is an entry, by its kind and the form of its name. */
bool stk_entry_looks_like(const char *name, const struct stat *stat);
/* Returns true if a thing found in a tree is the entry of a file, and not a directory's listing. */
bool stk_entry_looks_like_file(const char *name, const struct stat *stat);
