/*
 * A shared tier that the members of a group use together (`--share GROUP`). Its directory has mode
 * 3770 and that group: the group alone can enter it, and only a file's owner can remove the file.
 * Each member has a home there, and writes only in that.
 *
 * A member's entry is used if it is a plain file of that member's, in a home of that member's and
 * the group's, which no other user can write to. It is opened beneath the directory's descriptor,
 * through no link and no mount (Linux 5.6), and only ever copied: its owner can change the bytes at
 * any time. The seal behind them shows damage, and no malice. So a group shares with those users
 * that it would let write to the data set.
 *
 * Safe in threads. For the shared-tier helper, as each call may take any time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define SHARED_TIER_GROUP_MODE 03770 /* setgid, sticky */

/* Returns true if this is a directory for the group's members. */
bool shared_tier_is_of_group(const struct stat *directory, gid_t gid);

/*
 * Opens the entry of this name (below a home) and size, seal and all, in the home of the next
 * member that has it. `next` begins at 0. No group has the number 0. Returns the descriptor, which
 * the caller closes, or -ENOENT if no further member has it.
 */
int shared_tier_open_next(const char *directory, gid_t gid, unsigned *next, const char *name,
                          uint64_t bytes);

/* Lets the group pass through a directory of this user's, and list nothing. The name counts from
 * the directory "at". Returns false if it cannot be the group's. */
bool shared_tier_open_to_group(int at, const char *name, gid_t gid);
