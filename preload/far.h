/*
 * Directories that are far: neither below a covered root nor above one, so that no relative path
 * without ".." leads from them to a covered file. Programs that walk trees by relative paths (git,
 * find, du) would otherwise pay for a getcwd or a readlink at every step.
 *
 * The working directory is remembered until somebody changes it; directory descriptors by device
 * and inode of the directory. The memory may be wrong after what cannot be seen (a raw chdir, a
 * directory moved below a root). Then a file is read from the origin, which is right; calls that
 * change files do not use it. A vfork child, which shares it, does not write to it.
 * Lock-free, no heap, safe in threads, after fork and in signal handlers.
 */
#ifndef STK_PRELOAD_FAR_H
#define STK_PRELOAD_FAR_H

#include <stdbool.h>
#include <stdint.h>

/* What a directory is remembered by; taken before its path is looked up. */
struct stk_far_key {
    bool is_cwd;
    uint64_t value; /* 0: not to be remembered */
};

/* Whether the directory (AT_FDCWD or a descriptor) is known to be far; fills the key if not. */
bool stk_far_is_known(int dirfd, struct stk_far_key *key);
/* Whether the working directory is known to be far: a few loads. */
bool stk_far_is_cwd_known(void);
/* Looks at the directory's path; true, and remembered, if it is far. */
bool stk_far_learn(const struct stk_far_key *key, const char *directory);
/* The working directory was changed, or may have been. */
void stk_far_moved(void);

#endif
