/*
 * A run's users: those that processes of root's run became (setpriv, gosu, su). Such a process
 * cannot use root's catalogue. It makes one of its own, and marks that with the run
 * (cache/cache_core.c). When the run ends, the command removes the user's catalogue, too.
 *
 * Root reads one number in such a user's home, beneath a descriptor, by no link and in one mount.
 * All else is done by a process that has become the user, and that can do no more than the user
 * can.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cache/catalogue/home.h"
#include "cli/run/removal.h"
#include "cli/run/session.h"

/* Any user can make homes that look like a run user's. The library makes one for each user. */
#define RUN_USERS_MOST   32
#define RUN_USERS_OF_ONE 2

struct run_user {
    char home[STK_HOME_BYTES];
    uid_t uid;
    gid_t gid;
    uint64_t opens, hits; /* since the home was made */
    enum removal_user end;
};

struct run_users {
    unsigned count;
    unsigned beyond; /* further homes, which stay */
    struct run_user all[RUN_USERS_MOST];
};

/* Finds the users of an ended run, in the directory of its catalogue's home. Removes the users'
 * entries in memory, unless `keep`. Finds none if this process is not root's. Waits for a few
 * seconds at most. */
void run_users_end(const struct session *session, bool keep, struct run_users *out);
