/*
 * Covered roots: the directories whose files are served. A root has a spelling by which paths match
 * it (lexically), and an identity by which its files are known:
 *
 *   key     hash of the view (mount namespace and root directory), device and inode, and of the
 *           process's rights (base/proc.h): for the catalogue, so that two containers with other
 *           volumes on one path never mix. A process never gets what a process with more groups
 *           or with less confinement saw;
 *   name    its last component and a hash of file-system type, source, volume, mounted directory
 *           and path: the directory of its entries in a tier. Equal after a reboot, unless the
 *           volume is known by its mount only (base/volume.h).
 *
 * A mount below a root is a root of its own. A single file is its directory with only one name.
 * Everything here is for setting up, once per process; matching is in stk_roots_match.
 */
#ifndef STK_CACHE_ROOT_H
#define STK_CACHE_ROOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/path.h"
#include "cache/catalogue.h"

#define STK_ROOTS           32
#define STK_ROOT_NAME_BYTES 96
#define STK_ROOT_TEXT_BYTES (16u << 10)

/* What its file system is: how far away, and whether a directory's times change there whenever what
 * it holds does. */
enum stk_root_kind {
    STK_ROOT_UNKNOWN, /* perhaps far, and times may tell nothing */
    STK_ROOT_SERVER,  /* far: each question is dear; but times tell */
    STK_ROOT_DISK,    /* on this machine: to ask costs next to nothing; times tell */
    STK_ROOT_MEMORY   /* there is nothing to gain, and no telling when a map has been stored to */
};

struct stk_root {
    const char *prefix; /* as paths spell it: absolute, folded, no trailing slash */
    size_t prefix_length;
    const char *only;      /* the one name below it that is covered, or NULL for all */
    const char *canonical; /* without symbolic links */
    uint64_t dev, ino;
    uint64_t key;
    bool usable;             /* false: not there, or not a directory: matches nothing */
    bool linked;             /* spelled through symbolic links, which may come to lead elsewhere */
    _Atomic bool astray;     /* they do, as far as this process knows */
    _Atomic int64_t seen_ns; /* when that was looked at */
    bool inode_counts;       /* false: the mount makes inode numbers up */
    bool lasting;            /* its name says which volume, and not only which mount */
    bool personal;           /* kept by the mount to who has made it, whatever the modes say */
    enum stk_root_kind kind;
    char name[STK_ROOT_NAME_BYTES];
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

/* All roots of a process, and the text of their paths. Zero before use; may be static. */
struct stk_roots {
    unsigned count;
    _Atomic bool lost; /* the process sees other files now than when they were resolved */
    size_t text_used;
    struct stk_root roots[STK_ROOTS];
    char text[STK_ROOT_TEXT_BYTES];
};

/* Takes the spellings from a STOKER_PATHS list: no system call. Too many or too long: left out. */
void stk_roots_spell(struct stk_roots *roots, const char *paths);
/* Finds out what they are, and adds the mounts below them; some twenty system calls. */
void stk_roots_resolve(struct stk_roots *roots);

/* Whether its spelling still leads to the directory that it led to when it was resolved. No system
 * call for a root that is spelled without links. */
bool stk_root_is_there(const struct stk_root *root);

/* Keeps a text as long as the roots; NULL when there is no room. */
const char *stk_roots_keep(struct stk_roots *roots, const char *text, size_t length);

/*
 * The root that `path` (absolute) lies under, and in `rest` what is left of the path, unfolded; the
 * innermost where roots are nested. NULL: not covered. No system call, little stack: this runs for
 * every path that the program names.
 */
const struct stk_root *stk_roots_match(const struct stk_roots *roots, const char *path,
                                       const char **rest);
/* The process has another view of the file system from now on: what was resolved is not true of it,
 * and nothing is covered any more. */
void stk_roots_lose(struct stk_roots *roots);
/* The resolved root with this name, or NULL; rather the one that is spelled without links. Also of
 * a process that has lost them, whose descriptors stay what they are. */
const struct stk_root *stk_roots_by_name(const struct stk_roots *roots, const char *name,
                                         size_t length);

#endif
