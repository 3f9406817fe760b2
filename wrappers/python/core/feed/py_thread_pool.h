/* A thread pool (thread_pool.h) as Python has it, and as its Files use it. */
#pragma once

#include "wrappers/python/core/common/limited_api.h"
#include "wrappers/python/core/feed/thread_pool.h"

struct py_thread_pool {
    PyObject_HEAD;
    struct thread_pool *pool; /* NULL: closed */
    pid_t owner;
    unsigned waiting; /* Python threads that wait for it */
};

/* Returns the pool, or NULL with an exception set if it was closed or is another process's. */
struct thread_pool *py_pool_get(struct py_thread_pool *py_pool);

/* Waits until the pool's count of ends is not `number` (a Python int) any more; if `group` is not
 * NULL, until that group has ended. Waits for a second at the most, and only until a signal's
 * handler is to run. The GIL is released meanwhile. Returns None, or NULL with an exception set. */
PyObject *py_pool_wait_for(struct py_thread_pool *py_pool, PyObject *number,
                           const struct pool_group *group);
