/*
 * The user's own directory below a tier or a tmpfs: DIR/stoker-UID, mode 0700. If another user has
 * taken that name, it is the next free one of DIR/stoker-UID.1 to .9. Everything that Stoker keeps
 * lies in such directories:
 *
 *   catalogue     cache/catalogue/catalogue.h   (in the first tmpfs that has room)
 *   runs/NAME     cache/run/run.h               (beside the catalogue)
 *   tree/         the entries                   (in each tier)
 *   fill/         drafts of entries
 *   account       cache/tier/ledger.h           (in each tier)
 *   samples/      store/place.h
 *   lock          held while a run begins or ends
 *
 * Errors are -errno with one meaning each: -ENOTDIR not a directory, -ELOOP a symbolic link, -EPERM
 * of another user, -ENOTUNIQ writable by its group or others, or the kernel's own error. -EACCES
 * and -EROFS mean that this user may not write there. No heap; safe in threads, after fork and in
 * signal handlers.
 */
#pragma once

#include <stdbool.h>

#include "base/path.h"

#define STK_HOME_BYTES 512

#define STK_HOME_NAMES 10
#define STK_HOME_STEM  "/stoker-" /* what stands between a directory and the number in its home */

/*
 * Writes the path of the effective user's home in DIR: the first of its names under which something
 * of this user lies, or else the first free name. So a home stays the same, whichever of the names
 * before it are taken or freed later. If other users have all the names it is the first one, which
 * every check rejects. Returns false if the path does not fit.
 */
bool stk_home_path(char out[STK_HOME_BYTES], const char *dir);
/* Return true if a home of this user may have this name, and if it is one of the names after the
 * first. */
bool stk_home_is_name(const char *leaf);
bool stk_home_is_further_name(const char *leaf);
/* Makes the directory, or checks the one that is there. */
int stk_home_ensure(const char *home);
/* Returns 0 if no other user can have put things into the home. */
int stk_home_check(const char *home);
/*
 * Opens a home as a path, close-on-exec, if only this user can have put things in it. A file that
 * is opened beneath the descriptor is then this user's, even if another user renames a directory
 * above. Returns the descriptor, which the caller closes, or -errno.
 */
int stk_home_open(const char *home);
/* Makes a directory 0700 in a home if it is missing. */
int stk_home_ensure_directory(const char *home, const char *name);
/* Returns 0 if no other user can replace a home in DIR (absolute, without links). DIR belongs to
 * this user or to root, and so does each directory above. Each of them is sticky if its group or
 * others may write to it. `where` (may be NULL) gets the path of the directory at fault.
 * -ENAMETOOLONG: DIR has no room for a home. */
int stk_home_check_parent(const char *dir, char where[STK_HOME_BYTES]);

/*
 * Writes the home of the catalogue. The candidates are /dev/shm, XDG_RUNTIME_DIR, /run/user/UID and
 * /tmp, where they are a tmpfs. The first whose home has a catalogue is the one, or else the first
 * that has room. Makes the directory. Returns 0, or the first candidate's -errno.
 */
int stk_home_find(char out[STK_HOME_BYTES]);
/* Writes the home of an existing catalogue. Returns 0, or -ENOENT. */
int stk_home_find_existing(char out[STK_HOME_BYTES]);
