/*
 * Covered roots: the directories whose files are served. Paths match a root by its spelling
 * (lexically). Its files are known by where they are, so one file has one entry, whichever root,
 * link or bind mount leads to it:
 *
 *   name    the volume and the root's path there (cache/origin/location.h): the directory of its
 *           entries in a tier. Equal after a reboot, unless the volume is known by its mount only
 *           (base/volume.h). Two mounts in one process never share it: an entry's path leads back
 *           to one origin;
 *   key     a hash of that path, name by name, above which lie the volume, the mount (its point
 *           and its number: another volume with the same UUID may come after it), the device,
 *           the view (mount namespace and root directory), and the process's rights
 *           (base/proc.h): for the catalogue. So two containers with other volumes on one path
 *           never mix, and neither do two mounts that show other owners or rights. A process never
 *           gets what a process with more groups or with less confinement saw.
 *
 * Nested roots on one mount have equal names and keys for their common files. A mount below a root
 * is a root of its own. A single file is its directory with only one name. A process calls these
 * functions once, at its set-up; only stk_roots_match runs for each path.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/path.h"
#include "cache/catalogue/catalogue.h"
#include "cache/origin/location.h"

#define STK_ROOTS           32
#define STK_ROOT_TEXT_BYTES (32u << 10)

struct stk_root {
    const char *prefix; /* as paths spell it: absolute, folded, no trailing slash */
    size_t prefix_length;
    const char *only;      /* the one name below it that is covered, or NULL for all */
    const char *canonical; /* without symbolic links */
    uint64_t dev, ino;
    struct stk_hash128 key;
    bool usable;             /* false: missing, or not a directory: matches nothing */
    bool linked;             /* spelled through symbolic links, which may be changed */
    _Atomic bool retargeted; /* a link leads elsewhere by now, as far as this process knows */
    _Atomic int64_t seen_ns; /* when the process last checked that */
    enum stk_root_kind kind; /* this and the rest: see struct stk_location */
    bool inode_counts, lasting, single_user, is_fuse;
    uint64_t volume, mount, mounting;
    char *name;
    size_t name_length;
    _Atomic bool *noted; /* by tier: the note in its directory is there (cache/entry/draft.h) */
    /* The directories of its entries in this process's tiers, by the catalogue's numbers. */
    struct stk_root_tree {
        const char *path; /* NULL: not made */
        size_t length;
    } trees[STK_TIERS];
};

static inline bool stk_root_is_local(const struct stk_root *root)
{
    return root->kind == STK_ROOT_DISK || root->kind == STK_ROOT_MEMORY;
}

static inline bool stk_root_keeps_times(const struct stk_root *root)
{
    return root->kind == STK_ROOT_SERVER || root->kind == STK_ROOT_DISK;
}

/* All roots of a process, and the text of their paths. Zero it before use; it may be static. */
struct stk_roots {
    unsigned count;
    _Atomic bool lost; /* the process's view has changed since they were resolved */
    uint64_t rights;   /* of the process (base/proc.h), when they were resolved */
    size_t text_used;
    struct stk_root roots[STK_ROOTS];
    _Atomic bool noted[STK_ROOTS][STK_TIERS];
    char text[STK_ROOT_TEXT_BYTES];
};

/* Takes the spellings from a STOKER_PATHS list, without a system call. Leaves out what is too many
 * or too long. */
void stk_roots_spell(struct stk_roots *roots, const char *paths);
/* Resolves the spellings and adds the mounts below them, in some twenty system calls. */
void stk_roots_resolve(struct stk_roots *roots);

/* Returns true if the root's spelling still leads to the directory that it led to when it was
 * resolved. No system call for a root that is spelled without links. */
bool stk_root_is_there(const struct stk_root *root);

/* Keeps a text as long as the roots. Returns NULL if there is no room. */
char *stk_roots_keep(struct stk_roots *roots, const char *text, size_t length);

/*
 * Returns the root that `path` (absolute) lies under, the innermost of nested ones, and in `rest`
 * the rest of the path, unfolded. Returns NULL if the path is not covered. No system call and
 * little stack: this runs for every path that the program names.
 */
const struct stk_root *stk_roots_match(const struct stk_roots *roots, const char *path,
                                       const char **rest);
/* Ends all coverage: the process has another view of the file system from now on, for which the
 * roots were not resolved. */
void stk_roots_lose(struct stk_roots *roots);
/* Returns the rest of a path below a tier's tree behind the root's name: "" for the root itself.
 * Returns NULL if the path does not lie below the root, or if the root does not cover it. */
const char *stk_root_below(const struct stk_root *root, const char *in_tree);
/* Returns the resolved root below which this path in a tier's tree lies, the innermost of nested
 * ones, or NULL. Prefers a root that is spelled without links. Also works after stk_roots_lose: a
 * process's open descriptors stay what they are. */
const struct stk_root *stk_roots_by_name(const struct stk_roots *roots, const char *in_tree);
/* Returns the resolved root whose key has this lower half, or NULL. */
const struct stk_root *stk_roots_by_key(const struct stk_roots *roots, uint64_t key);
