/*
 * What the preload tells a wrapper that decodes, where it stands in the same process, and is told
 * by it: which version of which file a descriptor is, whether an entry's or the origin's own; and
 * that what was opened is decoded, and nobody gets to see its bytes. The wrapper refers to the
 * symbol weakly: NULL where there is no preload, and another version of it is not used.
 *
 * All of it is safe in threads and after fork, and leaves errno alone.
 */
#ifndef STK_BASE_VOUCH_H
#define STK_BASE_VOUCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

#define STK_VOUCH_VERSION 1

struct stk_vouch {
    uint32_t version; /* of this */
    /*
     * A hash that stands for the file open as `fd` in its version: the same for the file's entry
     * and for the file itself. False where nobody vouches for it: not covered, changed, written in
     * this run. Of the file itself the server is asked where it was not yet in this run, and in any
     * case with `ask`: for who has read it, and wants to know of which version that was.
     */
    bool (*link)(int fd, bool ask, struct stk_hash128 *out, bool *is_entry);
    /*
     * The same of the file that this path leads to now, where it has no entry: so a form can be had
     * without opening anything. Asks the server where it was not asked yet in this run.
     */
    bool (*link_path)(const char *path, struct stk_hash128 *out);
    /* That was an open, and its form was used. */
    void (*served)(const char *path);
    /*
     * What was opened as `fd` is decoded. `kept`: its form is, so that its entry may go where the
     * store wants room, if nothing else was opened to read its bytes in this run. Else, and if it
     * is an entry, `entry` is its path, for `kept`; "" where it is none, or is too long.
     */
    void (*decoded)(int fd, bool kept, char *entry, size_t room);
    /* The form of what this entry is of has been written to the store since. */
    void (*kept)(const char *entry);
};

extern const struct stk_vouch stoker_vouch;

#endif
