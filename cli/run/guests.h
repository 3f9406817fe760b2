/*
 * Guests: the users that processes of root's run became (setpriv, gosu, su). Such a process cannot
 * use root's catalogue. It makes one of its own, and marks that with the run (cache/cache_core.c).
 * When the run ends, the command removes the guest's catalogue, too.
 *
 * Root reads one number in a guest's home, beneath a descriptor, by no link and in one mount. All
 * else is done by a process that has become the guest, and that can do no more than the guest can.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cache/catalogue/home.h"
#include "cli/run/removal.h"
#include "cli/run/session.h"

/* Any user can make homes that look like a guest's. The library makes one for each user. */
#define GUESTS_MOST   32
#define GUESTS_OF_ONE 2

struct guest {
    char home[STK_HOME_BYTES];
    uid_t uid;
    gid_t gid;
    uint64_t opens, hits; /* since the home was made */
    enum removal_guest end;
};

struct guests {
    unsigned count;
    unsigned beyond; /* further homes, which stay */
    struct guest guests[GUESTS_MOST];
};

/* Finds the guests of an ended run, in the directory of its catalogue's home. Removes the guests'
 * entries in memory, unless `keep`. Finds none if this process is not root's. Waits for a few
 * seconds at most. */
void guests_end(const struct session *session, bool keep, struct guests *out);
