/* The identity of a file in one version. It may stand for the bytes that were read of the file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/identity_api.h"

/* The attributes that show a change of the file; without gaps. */
struct identity_state {
    uint64_t dev, ino, size;
    int64_t mtime_ns, ctime_ns;
    uint64_t entry_ino; /* the entry's own inode, else 0: an entry may be dropped and made again */
    int64_t entry_ctime_ns;
};

/* A mark by which a descriptor is recognised. Without gaps. */
struct identity_mark {
    struct identity_state state;
    uint64_t own_dev; /* the entry's own device; else 0 */
    uint64_t is_local;
};

/* The identity of a file in one version. */
struct identity {
    struct stk_hash128 link; /* stands for the file */
    struct identity_mark mark;
    bool is_sure; /* false: guessed */
};

/*
 * Sets how old a file must be. Call it before any other function. Stores through a map leave no
 * trace in the times until the kernel writes the pages. So a file younger than the kernel may take
 * for that has no identity; for an age below the default its pages are written first.
 */
void identity_begin(int64_t min_age_ns);

/*
 * Finds the identity of an open file. For a covered file the preload answers (base/identity_api.h),
 * equally for its entry and for the file itself: so a form is found whether there is an entry or
 * not. For any other file it is a hash of the descriptor's path, and of device, inode, size, mtime
 * and ctime.
 *
 * Returns false if nothing vouches for these: no regular file, a file that changed too recently or
 * lies in memory only, or no answer. On file systems that are not local the server is asked. For an
 * entry that the catalogue does not know the preload gives the origin's state; an entry itself
 * never changes, and its own inode is hashed in the place of the path.
 *
 * `how` chooses between certainty and cost. STK_IDENTITY_GUESS guesses the identity of a covered
 * file from what is known without asking the server, for a look-up that mostly finds nothing; any
 * other file's is sure. STK_IDENTITY_NOW is for the version that was read by this descriptor: the
 * server is asked, whatever is known.
 */
bool identity_of(int fd, enum stk_identity_ask how, struct identity *out);
/* Finds the identity of a covered file without an entry by its path, without opening it. */
bool identity_of_path(const char *path, enum stk_identity_ask how, struct identity *out);
/* Returns the bytes of a regular file, as this machine knows them, without asking a server; -1 for
 * any other file. */
int64_t identity_file_bytes(int fd);
/* Reports to the preload that a form was used in the place of opening this path. */
void identity_tell_served(const char *path);
/* Reports to the preload that an opened file was decoded, from its form if `kept`, else from its
 * bytes. Then `entry` gets the path of the entry that the bytes are of, or "". */
void identity_tell_decoded(int fd, bool kept, char *entry, size_t room);
/* Reports to the preload that the store now has the form of an entry's bytes: the entry may be
 * dropped.
 */
void identity_tell_kept(const char *entry);

/* Has the preload note in `opened` which covered files this thread opens; NULL: no longer. Returns
 * false if there is no preload. */
bool identity_note_opens(struct stk_opened *opened);

/* Returns true if the descriptor still reads the version that identity_of() made this mark of. This
 * is one call: an entry does not change, but its descriptor may become the origin's. */
bool identity_holds(int fd, const struct identity_mark *mark);
