/*
 * Entries: where they lie, and how they are opened, published and found again from a descriptor.
 *
 *   HOME/tree/ROOT/dir/3f2a91c07bd4;leaf       origin: ROOT's directory + /dir/leaf
 *
 * 12 hexadecimal digits name the version (cache/identity.h). No heap; safe everywhere.
 */
#ifndef STK_CACHE_ENTRY_H
#define STK_CACHE_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/path.h"
#include "cache/root.h"
#include "cache/tier.h"

#define STK_ENTRY_TREE       "/tree/"
#define STK_ENTRY_NOTE       ";origin" /* in a root's directory: the path of the origin, for people */
#define STK_ENTRY_DIGITS     12
#define STK_ENTRY_MODE       0400
#define STK_ENTRY_LEAF_LIMIT 242 /* longer names do not fit with the digits: 255 bytes */

/* Writes the entry's path; false when it does not fit. `below` is folded, without leading slash.
 * Part of every hit. */
bool stk_entry_path(char out[STK_PATH_BYTES], const char *home, const struct stk_root *root,
                    const char *below, uint64_t name);
/* The same with "HOME/tree/ROOT/" ready made. */
bool stk_entry_path_in(char out[STK_PATH_BYTES], const char *tree, size_t tree_length,
                       const char *below, uint64_t name);
/* Writes "HOME/tree/ROOT/"; its length, or 0 when it does not fit. */
size_t stk_entry_tree(char *out, size_t bytes, const char *home, const struct stk_root *root);

/* Takes an entry's path apart again: the root's name, the path below it, the version. `path` is
 * changed. False: not an entry of this home. */
struct stk_entry_parts {
    const char *root;
    size_t root_length;
    char below[STK_PATH_BYTES];
    uint64_t name;
    bool listing; /* of a directory (cache/listing.h) */
};
bool stk_entry_parse(const char *path, const char *home, struct stk_entry_parts *out);

/* Whether what is found in a tree is an entry: by its kind, and the form of its name. */
bool stk_entry_looks_like(const char *name, const struct stat *stat);
/* Whether it is that of a file, and not a directory's listing (cache/listing.h). */
bool stk_entry_looks_like_file(const char *name, const struct stat *stat);

/* A file in the making. */
struct stk_entry_draft {
    int fd;
    uint64_t dev, ino;
    bool removed; /* when it was given up, somebody else had unlinked it */
    char path[STK_HOME_BYTES + 64];
};
/* Takes a draft's name apart: the pid namespace of its filler, and its pid there. */
bool stk_entry_parse_draft(const char *name, uint64_t *namespace, uint64_t *pid);
/* Starts a draft of so many bytes. 0 or -errno; nothing is left behind on an error. */
int stk_entry_begin(struct stk_entry_draft *draft, const char *home, uint64_t bytes);
/*
 * Whether the descriptor still is the draft's. Another thread may close whatever numbers it likes;
 * the number then belongs to the next file that is opened, which must not be written, nor closed.
 */
bool stk_entry_holds(const struct stk_entry_draft *draft);
/* The same, with what the kernel says of its file. */
bool stk_entry_stat(const struct stk_entry_draft *draft, struct stat *stat);
/* Closes a draft, if it is still open. */
void stk_entry_close(struct stk_entry_draft *draft);
/* A duplicate with a number that nobody gets by opening something, close-on-exec; or -errno. */
int stk_entry_dup_high(int fd);
/* Gives up a draft, and notes whether somebody else had removed it: who unlinks it gives back what
 * it took. */
void stk_entry_discard(struct stk_entry_draft *draft);
/*
 * Puts a complete draft at its place, making the directories that are missing and counting them
 * against the tier's budget. 0, -EEXIST when an entry is there (the draft is discarded, the entry
 * is as good), or another -errno (the draft is discarded). `root_path` is noted beside the root's
 * tree.
 */
int stk_entry_publish(struct stk_entry_draft *draft, const struct stk_tier *tier,
                      const struct stk_root *root, const char *path);

#endif
