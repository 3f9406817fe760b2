/*
 * A shared tier: a directory on a file system that is not known to be local, in which several nodes
 * keep copies of entries for each other. Every call here may take any time, or fail in any way: it
 * is for a process that nobody waits for without a deadline (cli/courier.h).
 *
 *   DIR/stoker-UID/shared/ROOT/dir/3f2a91c07bd4;leaf   an entry's bytes, and a seal behind them
 *                  making/                             what is being written
 *                  nodes/                              what each node has put there, in bytes
 *
 * Files are opened beneath a descriptor of the home, which is checked each time: other users may be
 * able to rename the directories above. Only a seal is believed: it names the entry whose bytes lie
 * in front of it, and gives their number and check sum. No lock, time, attribute or flag of the
 * file system matters. A file there is never changed, and is replaced only if it was found damaged.
 *
 * Errors are -errno. Safe in threads.
 */
#ifndef STK_CLI_SHARED_H
#define STK_CLI_SHARED_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cache/home.h"

struct shared {
    char directory[STK_HOME_BYTES];
    char home[STK_HOME_BYTES];
    int64_t budget_bytes; /* of all nodes together; below 0: what the file system has room for */
};

/* How long what is behind the bytes of an entry is. */
#define SHARED_SEAL_BYTES 64

/* What a directory is, found out by another process. LATE: it does not answer. `canonical` is set
 * for a shared one. */
enum shared_kind { SHARED_LOCAL, SHARED_YES, SHARED_LATE };
enum shared_kind shared_find(const char *directory, char canonical[STK_HOME_BYTES]);

/* Makes what is missing there, and tries whether it keeps what it is given. 0 or -errno; those of
 * cache/home.h have their meanings. */
int shared_open(struct shared *shared);

/* Whether there is an entry of that many bytes: 0, or -errno. */
int shared_look(const struct shared *shared, const char *path, uint64_t bytes);
/* Copies it to `to`, and tells its check sum (cache/proof.h). -EBADMSG: it is damaged. */
int shared_fetch(const struct shared *shared, const char *path, uint64_t bytes, int to,
                 uint64_t *check);
/* Puts a copy of `from` there. -EEXIST: there is one, which stays unless it `repairs`; -ENOSPC and
 * -EDQUOT: there is no room. */
int shared_publish(const struct shared *shared, const char *path, uint64_t bytes, int from,
                   bool repairs);
/* Whether so much more may be put there, and says to the other nodes that it will be.
 * 0, or -ENOSPC. What is not put there in the end is given back. */
int shared_take_room(const struct shared *shared, uint64_t bytes);
void shared_give_room(const struct shared *shared, uint64_t bytes);
/* Gives back what was said to the others and not taken. */
void shared_end_room(const struct shared *shared);
/* Removes what those who were killed have left in the making. */
void shared_sweep(const struct shared *shared);

/* Opens a room of the home that is open as `home`, to list it. The caller closes it. Returns NULL
 * with errno if the room cannot be opened. */
DIR *shared_list(int home, const char *room);

#endif
