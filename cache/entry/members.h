/*
 * Members of a group share tiers. The directory of a tier can be one that a group shares (`stoker
 * share`: mode 3770). Each member has a home there, fills that, and reads those of the other
 * members.
 *
 * Only bytes are shared. Each member has a catalogue of its own, and reads no listings, blocks or
 * samples of another. A process finds an entry in a member's home by its name, which is its
 * version's. Only a process that has just opened the origin with its own rights, and asked for the
 * version, looks for it: so no user gets what that user may not open now. A user without Stoker is
 * held to the same, as far as modes allow: entries and directories are opened to the group only if
 * the origin's are open to it.
 *
 * A member can put wrong bytes under a right name, as the owner of a directory of programs can.
 * Anything but an entry in its place is ignored: links, pipes, mounts, files of a third user. Root
 * neither shares nor uses shares.
 *
 * After set-up all functions are safe in threads, after fork and in signal handlers; no heap.
 */
#ifndef STK_CACHE_ENTRY_MEMBERS_H
#define STK_CACHE_ENTRY_MEMBERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/path.h"
#include "cache/catalogue/identity.h"
#include "cache/origin/root.h"
#include "cache/tier/tier.h"

#define STK_MEMBERS_MODE                                                                           \
    03770 /* setgid: new files are the group's; sticky: each user removes only its own */
#define STK_MEMBERS_ENTRY_MODE 0440
#define STK_MEMBERS_MOST       64
#define STK_MEMBERS_HOMES      16 /* of other members, in one tier */

struct stk_members {
    bool on;
    uint32_t gid;
    unsigned count;
    uint32_t members[STK_MEMBERS_MOST]; /* uids; homes of other users are ignored */
    /* By the catalogue's number of the tier. */
    struct stk_members_tier {
        size_t dir_length; /* of the directory that holds the homes, in the path of this user's
                              home; 0: not shared */
        _Atomic int64_t listed_ns; /* the mtime of the directory when it was listed */
        _Atomic uint64_t homes[STK_MEMBERS_HOMES]; /* uid and name; 0: none */
    } tiers[STK_TIERS];
};

/* Takes the value of STOKER_SHARE as the command gives it to a job: GID:UID,UID... A value that is
 * malformed, or root's, shares nothing. */
void stk_members_read(struct stk_members *group, const char *value);

/* Returns true if the group shares this directory, and root or a member owns it. */
bool stk_members_has(const struct stk_members *group, const char *dir);
/* Returns true if a home's name fits its owner. */
bool stk_members_is_home_of(const struct stat *home, const char *leaf);
/*
 * Makes this user's home there, open to the group, if the group shares the directory. The caller
 * calls this before it attaches the tier; after true it calls stk_members_note behind that.
 */
bool stk_members_prepare(const struct stk_members *group, const char *dir);
void stk_members_note(struct stk_members *group, const struct stk_tier *tier);
static inline bool stk_members_shares(const struct stk_members *group, const struct stk_tier *tier)
{
    return group->on && group->tiers[tier->index].dir_length > 0;
}

/* ---- for the other members ---- */

/*
 * Opens a new entry of a shared tier to the members, if every member may read the file that was
 * copied. The function walks the entry's path at the origin, beneath the root and without links.
 * The walk must end at the file and version of `copied`. Every member must be allowed to list and
 * pass each directory of the walk, and to pass each directory above the root. The walk comes after
 * the copy and uses descriptors, so each mode is that of the object that was checked.
 * Each directory in the tier is opened (to pass, not to list) or closed as its origin is.
 * Changes `entry` meanwhile, and restores it.
 */
void stk_members_give(const struct stk_members *group, const struct stk_tier *tier,
                      const struct stk_root *root, char *entry, const struct stk_identity *copied);

/* ---- of the other members ---- */

/* Finds the entry of this version in a member's home, for a caller that has the origin open. */
bool stk_members_find(struct stk_members *group, const struct stk_tier *tier,
                      const struct stk_root *root, const char *below, uint64_t name, uint64_t size,
                      char entry[STK_PATH_BYTES]);
/* Opens such an entry for the program. The opened file is then a member's own, of that size and
 * whole. Never waits. Returns the descriptor, or -errno. */
int stk_members_open_entry(const struct stk_members *group, const struct stk_tier *tier,
                           const char *entry, uint64_t size, int flags);
/* Writes the home that an entry lies in. Returns false if it is no member's. */
bool stk_members_home_of(const struct stk_members *group, const struct stk_tier *tier,
                         const char *entry, char home[STK_HOME_BYTES]);

#endif
