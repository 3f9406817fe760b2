/*
 * The user's own directory below a tier or a tmpfs: DIR/stoker-UID, mode 0700; or, where somebody
 * else has taken that name, the next of DIR/stoker-UID.1 to .9. Everything that Stoker keeps lies
 * in such directories:
 *
 *   catalogue     cache/catalogue.h   (in the first tmpfs that has room)
 *   runs/NAME     cache/run.h         (beside the catalogue)
 *   tree/         the entries         (in each tier)
 *   fill/         entries in the making
 *   account       cache/account.h     (in each tier)
 *   samples/      store/place.h
 *   lock          held while a run begins or ends
 *
 * Errors are -errno with one meaning each: -ENOTDIR not a directory, -ELOOP a symbolic link, -EPERM
 * of another user, -ENOTUNIQ writable by its group or others, or the kernel's own error: -EACCES
 * and -EROFS mean that this user may not write there. No heap; safe everywhere.
 */
#ifndef STK_CACHE_HOME_H
#define STK_CACHE_HOME_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/path.h"

#define STK_HOME_BYTES 512

#define STK_HOME_NAMES 10
#define STK_HOME_STEM  "/stoker-" /* what stands between a directory and the number in its home */

/*
 * Writes the path of the effective user's home in DIR: the first of its names by which something of
 * his lies there, or, if there is nothing, the first that is free. So a home that was made once
 * stays the one, whoever takes or leaves the names before it. Where others have all of them it is
 * the first, which no check lets pass. False when it does not fit.
 */
bool stk_home_path(char out[STK_HOME_BYTES], const char *dir);
/* Whether homes of this user are called so, and whether it is one behind the first. */
bool stk_home_is_name(const char *leaf);
bool stk_home_is_further_name(const char *leaf);
/* Makes the directory, or checks the one that is there. */
int stk_home_ensure(const char *home);
/* Checks that only this user can have put things in it. */
int stk_home_check(const char *home);
/*
 * Opens a home as a path, close-on-exec, if only this user can have put things in it. A file that
 * is opened beneath the descriptor is then this user's, even if another user renames a directory
 * above. Returns the descriptor, which the caller closes, or -errno.
 */
int stk_home_open(const char *home);
/* Makes a directory 0700 in a home if it is missing. */
int stk_home_ensure_room(const char *home, const char *room);
/* Checks that no other user can replace a home in DIR (absolute, without links). DIR belongs to
 * this user, to root or to a trusted user. Each directory above belongs to this user, to root or to
 * DIR's owner. Each of them is sticky if its group or others may write to it. `where` (may be NULL)
 * gets the path of the directory at fault. -ENAMETOOLONG: DIR has no room for a home. */
int stk_home_check_parent(const char *dir, char where[STK_HOME_BYTES]);
/* Whoever owns this directory is trusted with it: a member of the group that shares it
 * (cache/group.h). Of few directories, when a process sets up. */
void stk_home_trust(const struct stat *dir);

/*
 * The home that holds (or shall hold) the catalogue: the first of /dev/shm, XDG_RUNTIME_DIR,
 * /run/user/UID, /tmp that is a tmpfs, has a home with a catalogue, or, if none has, room for one.
 * Makes the directory. 0, or the first candidate's -errno.
 */
int stk_home_find(char out[STK_HOME_BYTES]);
/* The same without making anything: 0, or -ENOENT. */
int stk_home_find_existing(char out[STK_HOME_BYTES]);

#endif
