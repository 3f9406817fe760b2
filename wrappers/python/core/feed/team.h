/* A crew (crew.h) as Python has it: what a Crew is, for the Files that it works for. See feed.h. */
#ifndef STK_PYTHON_FEED_TEAM_H
#define STK_PYTHON_FEED_TEAM_H

#include "wrappers/python/core/core.h"
#include "wrappers/python/core/feed/crew.h"

struct team {
    PyObject_HEAD;
    struct crew *crew; /* NULL: closed */
    pid_t owner;
    unsigned waiting; /* threads that wait for it */
};

/* The crew, or NULL with an exception set: it was closed, or is another process's. */
struct crew *team_crew(struct team *team);

/* Waits until the crew's count of ends is another than `number` (a Python int), or, if `group` is
 * something, until that has ended; for a second, or until a signal's handler is to run. Without the
 * GIL. None, or NULL with an exception set. */
PyObject *team_wait_for(struct team *team, PyObject *number, const struct crew_group *group);

#endif
