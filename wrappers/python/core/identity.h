/*
 * Which file a descriptor is, in which version: what may stand for the bytes that were read of it.
 */
#ifndef STK_PYTHON_IDENTITY_H
#define STK_PYTHON_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/* What a change of the file shows in; without gaps. */
struct identity_state {
    uint64_t dev, ino, size;
    int64_t mtime_ns, ctime_ns;
    uint64_t entry_ino; /* of an entry its own, else 0: it may be dropped and made again */
    int64_t entry_ctime_ns;
};

/* By what a descriptor is known again. Without gaps. */
struct identity_mark {
    struct identity_state state;
    uint64_t own_dev; /* of an entry: its own; else 0 */
    uint64_t is_local;
};

/* Which file it is, in which version. */
struct identity {
    struct stk_hash128 link; /* stands for it */
    struct identity_mark mark;
    bool is_sure; /* else it was guessed */
};

/* How old a file must be, from now on; before anything is asked. Of a file that is younger than the
 * kernel may take to write its pages, a map's stores leave no trace in the times: it has no
 * identity either, or, for an age below the default, its pages are written first. */
void identity_begin(int64_t min_age_ns);

/*
 * What stands for the file in its version. Of a covered file the preload tells it (base/vouch.h):
 * the same of its entry and of the file itself, so that a form is found whether there is an entry
 * or not. Else it is a hash of where the descriptor leads and of its device, inode, size, mtime and
 * ctime. False where nobody vouches for them: no regular file, one that changed not long enough ago
 * or lies in memory only, or no answer. On file systems that are not local the server is asked. Of
 * an entry that the catalogue does not know the preload tells its origin's state; an entry itself
 * never changes, and its own inode is hashed in the place of the path.
 */
bool identity_of(int fd, struct identity *out);
/* The same of a covered file as far as it is known without asking; of any other it is sure. For who
 * has something to look for by it, and mostly in vain. */
bool identity_guess(int fd, struct identity *out);
/* The same for who has read the file by this descriptor, of which version that was: the server is
 * asked, whatever is known. */
bool identity_after_reading(int fd, struct stk_hash128 *out);
/* The same of a covered file without an entry by its path, without opening it. */
bool identity_of_path(const char *path, struct identity *out);
bool identity_guess_path(const char *path, struct identity *out);
/* The bytes of a regular file, as this machine knows them: no server is asked. -1: it is none. */
int64_t identity_file_bytes(int fd);
/* Its form was used then, in the place of an open. */
void identity_tell_served(const char *path);
/* What was opened so is decoded: of its form, or (`kept` is false) of its bytes; then `entry` gets
 * the path of the entry that these are of, or "". */
void identity_tell_decoded(int fd, bool kept, char *entry, size_t room);
/* The form of those bytes is kept by now: the entry may go. */
void identity_tell_kept(const char *entry);

/* Whether what is read by the descriptor is what it was when identity_of() made this mark of it.
 * That is one call: an entry does not change, but its descriptor may become the origin's. */
bool identity_holds(int fd, const struct identity_mark *mark);

#endif
