/*
 * A shared tier: a directory on a file system that is not known to be local, in which several nodes
 * keep copies of entries for each other. Every call may take any time, or fail in any way. So only
 * a process makes these calls for which every wait has a deadline (cli/run/shared_helper.h).
 *
 *   DIR/stoker-UID/shared/ROOT/dir/3f2a91c07bd4;leaf   an entry's bytes, and a seal behind them
 *                  making/                             incomplete files
 *                  nodes/                              how many bytes each node has put there
 *
 * Files are opened beneath a descriptor of the home, which is checked each time: other users may be
 * able to rename the directories above. Only a seal is believed. It names the entry whose bytes lie
 * in front of it, and has their number and checksum. No lock, time, attribute or flag of the file
 * system matters. A file there is never changed, and is replaced only if it was found damaged.
 *
 * Where a group shares the directory, an entry that this user lacks may come from another member's
 * home (cli/tiers/shared_tier_members.h), on this node or on another one.
 *
 * Errors are -errno. Safe in threads.
 */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cache/catalogue/home.h"

struct shared_tier {
    char directory[STK_HOME_BYTES];
    char home[STK_HOME_BYTES];
    gid_t gid; /* the group that shares the directory; 0: it serves this user alone */
    int64_t
        budget_bytes; /* of all nodes together; below 0: as much as the file system has room for */
};

/* Where the entries lie in a home there, in the place of a local tier's tree. */
#define SHARED_TIER_ENTRIES "shared/"
/* The length of the seal behind an entry's bytes. */
#define SHARED_TIER_SEAL_BYTES 64

/* An entry there, whether or not it is. */
struct shared_tier_entry {
    const char *path; /* below the entries */
    uint64_t bytes;
    uint64_t rights; /* of a process that has opened the origin (base/proc.h); 0: unknown */
};

/* Finds out in a detached process whether a directory is on a shared file system, or is the
 * group's, wherever it is; no group has the number 0. Returns SHARED_TIER_LATE if its server does
 * not answer, or fails, and sets `error` to -ETIMEDOUT or the server's -errno then. Sets
 * `canonical` for SHARED_TIER_YES and SHARED_TIER_OF_GROUP. */
enum shared_tier_kind {
    SHARED_TIER_LOCAL,
    SHARED_TIER_YES,
    SHARED_TIER_OF_GROUP,
    SHARED_TIER_LATE
};
enum shared_tier_kind shared_tier_find(const char *directory, gid_t gid,
                                       char canonical[STK_HOME_BYTES], int *error);

/* Makes missing directories, and tests whether the file system keeps written data. Clears
 * `shared->gid` if the group cannot share them. Expects a umask of 0. Returns 0 or -errno; the
 * errors of cache/catalogue/home.h have their meanings. */
int shared_tier_open(struct shared_tier *shared);

/* Returns true for an error of a full tier, or of one mounted read-only. Such a tier has much to
 * give, and takes nothing. */
bool shared_tier_wants_room(int error);

/* Tests once more whether an open shared tier takes and returns data. Makes no home: behind a mount
 * that is gone lies a disk of this node. Returns 0, even if there is no room or no right to write,
 * or -errno. */
int shared_tier_try(const struct shared_tier *shared);

/* Returns 0 if there is an entry of that many bytes, or -errno. */
int shared_tier_look(const struct shared_tier *shared, const char *path, uint64_t bytes);
/* Copies the entry to the descriptor `to`, and sets its checksum (cache/entry/checksum.h) and its
 * rights, which another member's entry has not. Returns -EBADMSG if the entry is damaged. */
int shared_tier_fetch(const struct shared_tier *shared, struct shared_tier_entry *entry, int to,
                      uint64_t *check);
/* Writes a copy of the descriptor `from` there. With `for_members` the group may read it. Returns
 * -EEXIST if there is an entry, which is
 * replaced only with `repairs`; -ENOSPC and -EDQUOT if there is no room. */
int shared_tier_publish(const struct shared_tier *shared, const struct shared_tier_entry *entry,
                        int from, bool repairs, bool for_members);
/* Reserves room for so many bytes, and publishes that to the other nodes. Returns 0 or -ENOSPC.
 * Give back what is not used in the end with shared_tier_give_room(). */
int shared_tier_take_room(const struct shared_tier *shared, uint64_t bytes);
void shared_tier_give_room(const struct shared_tier *shared, uint64_t bytes);
/* Gives back all room that was reserved and not used. */
void shared_tier_end_room(const struct shared_tier *shared);
/* Removes incomplete files of processes that were killed. */
void shared_tier_sweep(const struct shared_tier *shared);

/* Opens a directory of the home that is open as `home`, for listing. The caller closes it. Returns
 * NULL with errno if the directory cannot be opened. */
DIR *shared_tier_list(int home, const char *directory);
