/*
 * Sharing by a group. The directory of a tier can be one that a group shares (`stoker share`: mode
 * 3770): its members have their homes there, fill their own, and read those of the others.
 *
 * What is shared is bytes. Each has a catalogue of his own, and nobody's listings, blocks or
 * samples are read by others. An entry is found in a member's home by its name, which is its
 * version's, and only by one who has just opened the origin with his own rights and asked for its
 * version: so nobody is given what he may not open now. What can be read in a home without Stoker
 * is held to the same, as far as modes tell: entries and directories are opened to the group only
 * if the origin's are open to it.
 *
 * A member can put wrong bytes under a right name, as who owns a directory of programs can.
 * Whatever else lies there instead of an entry is not looked at: links, pipes, mounts, files of a
 * third. Root neither shares nor is shared with.
 *
 * Everything is safe in threads, after fork and in signal handlers once it is set up; no heap.
 */
#ifndef STK_CACHE_GROUP_H
#define STK_CACHE_GROUP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/path.h"
#include "cache/identity.h"
#include "cache/root.h"
#include "cache/tier.h"

#define STK_GROUP_MODE       03770 /* setgid: what is made there is the group's; sticky: each his own */
#define STK_GROUP_ENTRY_MODE 0440
#define STK_GROUP_MEMBERS    64
#define STK_GROUP_HOMES      16 /* of others, in one tier */

struct stk_group {
    bool on;
    uint32_t gid;
    unsigned count;
    uint32_t members[STK_GROUP_MEMBERS]; /* user numbers; what others have there is not used */
    /* By the catalogue's number of the tier. */
    struct stk_group_tier {
        size_t dir_length; /* of what holds the homes, in the path of one's own; 0: not shared */
        _Atomic int64_t listed_ns;               /* the mtime of the directory when it was listed */
        _Atomic uint64_t homes[STK_GROUP_HOMES]; /* user number and name; 0: none */
    } tiers[STK_TIERS];
};

/* Takes the value of STOKER_SHARE as the command gives it to a job: GID:UID,UID... What cannot be
 * understood, and root's, shares nothing. */
void stk_group_read(struct stk_group *group, const char *value);

/* Whether the group shares this directory, and nobody but root or a member owns it. */
bool stk_group_has(const struct stk_group *group, const char *dir);
/* Whether a home's name stands for whom it belongs to. */
bool stk_group_is_home_of(const struct stat *home, const char *leaf);
/*
 * Makes this user's home there, open to the group, if the group shares the directory. To be called
 * before the tier is attached; true: stk_group_note is to be called behind it.
 */
bool stk_group_prepare(const struct stk_group *group, const char *dir);
void stk_group_note(struct stk_group *group, const struct stk_tier *tier);
static inline bool stk_group_shares(const struct stk_group *group, const struct stk_tier *tier)
{
    return group->on && group->tiers[tier->index].dir_length > 0;
}

/* ---- what the others get ---- */

/*
 * Opens a new entry of a shared tier to the members, if every member may read the file that was
 * copied. The function walks the entry's path at the origin, beneath the root and without links.
 * The walk must end at the file and version of `copied`. Every member must be allowed to list and
 * pass each directory of the walk, and to pass each directory above the root. The walk comes after
 * the copy and uses descriptors, so each mode is that of the object that was checked.
 * Each directory in the tier is opened (to pass, not to list) or closed as its origin is.
 * Changes `entry` meanwhile, and restores it.
 */
void stk_group_give(const struct stk_group *group, const struct stk_tier *tier,
                    const struct stk_root *root, char *entry, const struct stk_identity *copied);

/* ---- what the others have ---- */

/* The entry of this version in a member's home, for one who has the origin open. */
bool stk_group_find(struct stk_group *group, const struct stk_tier *tier,
                    const struct stk_root *root, const char *below, uint64_t name, uint64_t size,
                    char entry[STK_PATH_BYTES]);
/* Opens it, for handing it out: what is open then is a member's own file, of that size and whole.
 * Never waits. The descriptor, or -errno. */
int stk_group_open_entry(const struct stk_group *group, const struct stk_tier *tier,
                         const char *entry, uint64_t size, int flags);
/* The home that an entry lies in; false: in none of a member's. */
bool stk_group_home_of(const struct stk_group *group, const struct stk_tier *tier,
                       const char *entry, char home[STK_HOME_BYTES]);

#endif
