/*
 * Remembers directories outside: neither below a covered root nor above one, so that no relative
 * path without ".." leads from them to a covered file. Programs that walk trees by relative paths
 * (git, find, du) would otherwise pay for a getcwd or a readlink at every step.
 *
 * The working directory is remembered until the process changes it; a directory descriptor, by the
 * directory's device and inode. The memory may be wrong after a change that Stoker cannot see: a
 * raw chdir, or a directory moved below a root. Then a file is read from the origin, which is
 * right. Calls that change files do not use the memory. A vfork child shares it, and does not write
 * to it. Lock-free, no heap, safe in threads, after fork and in signal handlers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The key by which a directory is remembered. It is taken before the directory's path is looked
 * up. */
struct stk_outside_key {
    bool is_cwd;
    uint64_t value; /* 0: not to be remembered */
};

/* Returns true if the directory (AT_FDCWD or a descriptor) is known to be outside; else fills the
 * key. */
bool stk_outside_is_known(int dirfd, struct stk_outside_key *key);
/* Returns true if the working directory is known to be outside. Costs a few loads. */
bool stk_outside_is_cwd_known(void);
/* Looks at the directory's path. If it is outside, remembers that and returns true. */
bool stk_outside_learn(const struct stk_outside_key *key, const char *directory);
/* Forgets the working directory, which was changed or may have been. */
void stk_outside_forget_cwd(void);
