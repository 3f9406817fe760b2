/*
 * Connects the preload with a wrapper that decodes in the same process. The wrapper asks which
 * version of which file a descriptor is, whether an entry's or the origin's own. It reports that an
 * opened file is decoded, so that the program does not see the file's bytes. It learns which files
 * a thread opens. The wrapper refers to the symbol weakly: NULL where there is no preload. A
 * wrapper does not use another version of it.
 *
 * All of it is safe in threads and after fork, and leaves errno alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

#define STK_IDENTITY_API_VERSION 3

enum stk_identity_ask {
    STK_IDENTITY_GUESS, /* no server is asked; wrong perhaps, if it is not sure */
    STK_IDENTITY_RUN,   /* the server is asked, unless it was asked about this file in this run */
    STK_IDENTITY_NOW,   /* the server is asked in any case */
};

struct stk_identity_answer {
    struct stk_hash128 link; /* stands for a file in its version */
    bool is_entry;           /* the descriptor is one */
    bool is_sure;
};

/* Paths of covered files that a thread has opened, each with its zero. */
struct stk_opened {
    size_t used, room; /* bytes of `paths`; a path that has no room is left out */
    char *paths;
};

struct stk_identity_api {
    uint32_t version; /* of this */
    /* Finds the link that stands for the file open as `fd` in its version. The link is the same for
     * the file's entry, about which no server is asked, and for the file itself. Returns false if
     * the identity is uncertain: not covered, changed, or written in this run. A caller that has
     * read the file, and needs the version that it read, has to ask in any case. */
    bool (*link)(int fd, enum stk_identity_ask how, struct stk_identity_answer *out);
    /* Finds the link of the file that this path leads to now, if it has no entry: so a form can be
     * had without opening the file. */
    bool (*link_path)(const char *path, enum stk_identity_ask how, struct stk_identity_answer *out);
    /* Counts an open of this path, whose form was used. */
    void (*served)(const char *path);
    /* Notes that the file open as `fd` is decoded. If its form is `kept` in the store, its entry
     * may go where the store wants room, unless another open has read the file's bytes in this run.
     * If not, `entry` gets the entry's path, to be given to `kept` later; "" if `fd` is no entry,
     * or the path is too long. */
    void (*decoded)(int fd, bool kept, char *entry, size_t room);
    /* Notes that the form of this entry's file has been written to the store since. */
    void (*kept)(const char *entry);
    /* Has the covered files that this thread opens for reading noted in `opened` from now on. NULL:
     * no longer. `opened` is the thread's alone. */
    void (*note_opens)(struct stk_opened *opened);
};

extern const struct stk_identity_api stoker_identity_api;
