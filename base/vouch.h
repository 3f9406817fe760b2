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

#define STK_VOUCH_VERSION 2

enum stk_vouch_how {
    STK_VOUCH_GUESS, /* nobody is asked: it may be wrong, if it is not sure */
    STK_VOUCH_RUN,   /* the server is, of a file of which it was not yet in this run */
    STK_VOUCH_NOW,   /* in any case */
};

struct stk_vouched {
    struct stk_hash128 link; /* stands for a file in its version */
    bool is_entry;           /* the descriptor is one */
    bool is_sure;
};

struct stk_vouch {
    uint32_t version; /* of this */
    /*
     * What stands for the file open as `fd` in its version: the same for the file's entry, of which
     * nobody is asked, and for the file itself. False where nobody vouches for it: not covered,
     * changed, written in this run. Who has read it, and wants to know of which version that was,
     * has to ask in any case.
     */
    bool (*link)(int fd, enum stk_vouch_how how, struct stk_vouched *out);
    /*
     * The same of the file that this path leads to now, where it has no entry: so a form can be had
     * without opening anything.
     */
    bool (*link_path)(const char *path, enum stk_vouch_how how, struct stk_vouched *out);
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
