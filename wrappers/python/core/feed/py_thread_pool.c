#include "wrappers/python/core/feed/py_thread_pool.h"

#include <errno.h>

#include "base/clock.h"
#include "base/sys.h"
#include "wrappers/python/core/common/functions.h"
#include "wrappers/python/core/feed/feed.h"
#include "wrappers/python/core/common/objects.h"

#define MOST_THREADS 1024

static void free_pool(struct py_thread_pool *py_pool)
{
    struct thread_pool *pool = py_pool->pool;
    py_pool->pool = NULL;
    WITHOUT_GIL(thread_pool_free(pool));
}

static void free_py_pool(PyObject *self)
{
    free_pool((struct py_thread_pool *)self);
    object_free(self);
}

struct thread_pool *py_pool_get(struct py_thread_pool *py_pool)
{
    if (py_pool->pool == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "the pool was closed");
        return NULL;
    }
    if (!thread_pool_is_own(py_pool->pool)) {
        PyErr_SetString(PyExc_RuntimeError, "the pool is another process's");
        return NULL;
    }
    return py_pool->pool;
}

/* pool.close(): ends its threads. Tasks that have not begun are dropped. */
static PyObject *py_pool_close(PyObject *self, PyObject *unused)
{
    const struct py_thread_pool *py_pool = (struct py_thread_pool *)self;
    if (py_pool->waiting > 0 && py_pool->owner == stk_sys_getpid()) {
        return PyErr_Format(PyExc_RuntimeError, "another thread waits for this pool");
    }
    free_pool((struct py_thread_pool *)self);
    Py_RETURN_NONE;
}

/* pool.ends(): how many times something has come to its end. */
static PyObject *py_pool_ends(PyObject *self, PyObject *unused)
{
    struct thread_pool *pool = py_pool_get((struct py_thread_pool *)self);
    return pool == NULL ? NULL : PyLong_FromUnsignedLong(thread_pool_ends(pool));
}

/* Until something has ended since; if `group` is something, until that has. */
static void wait_for(struct thread_pool *pool, uint32_t ends, const struct pool_group *group)
{
    int64_t until = stk_sys_clock_ns(CLOCK_MONOTONIC) + STK_NS_PER_S, left = STK_NS_PER_S;
    bool woken = true;
    while (woken && left > 0 && (group == NULL || !thread_pool_has_ended(group))) {
        thread_pool_wait(pool, ends, left);
        woken = group != NULL && thread_pool_ends(pool) != ends; /* else a signal, or the time */
        ends = thread_pool_ends(pool);
        left = until - stk_sys_clock_ns(CLOCK_MONOTONIC);
    }
}

PyObject *py_pool_wait_for(struct py_thread_pool *py_pool, PyObject *number,
                           const struct pool_group *group)
{
    uint32_t ends;
    struct thread_pool *pool = py_pool_get(py_pool);
    if (pool == NULL || !take_u32(number, &ends)) {
        return NULL;
    }
    py_pool->waiting++;
    WITHOUT_GIL(wait_for(pool, ends, group));
    py_pool->waiting--;
    Py_RETURN_NONE;
}

/* pool.wait(ends): until ends() says something else, for a second, or until a signal's
 * handler is to run. */
static PyObject *py_pool_wait(PyObject *self, PyObject *number)
{
    return py_pool_wait_for((struct py_thread_pool *)self, number, NULL);
}

static PyMethodDef py_pool_methods[] = {
    {"close", py_pool_close, METH_NOARGS, NULL},
    {"ends", py_pool_ends, METH_NOARGS, NULL},
    {"wait", py_pool_wait, METH_O, NULL},
    {"files", py_pool_files, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

OBJECT_SPEC(feed_thread_pool_spec, "ThreadPool", struct py_thread_pool,
            {Py_tp_dealloc, free_py_pool}, {Py_tp_methods, py_pool_methods});

/* Sets the error for a pool without a thread: that of Python's threading if the system gives
 * none. */
static PyObject *set_error(int error)
{
    if (error == EAGAIN) {
        PyErr_SetString(PyExc_RuntimeError, "can't start new thread");
        return NULL;
    }
    errno = error;
    return PyErr_SetFromErrno(PyExc_OSError);
}

/* feed_thread_pool(threads, at_once = threads): a ThreadPool of so many, or as many as can be had,
 * of which `at_once` decode; RuntimeError: of none. */
PyObject *core_feed_thread_pool(PyObject *module, PyObject *arguments)
{
    uint32_t threads, at_once = MOST_THREADS;
    int error;
    if (!PyArg_ParseTuple(arguments, "O&|O&", take_u32, &threads, take_u32, &at_once)) {
        return NULL;
    }
    if (threads == 0 || at_once == 0 || threads > MOST_THREADS) {
        return PyErr_Format(PyExc_ValueError, "threads are from 1 to %d", MOST_THREADS);
    }
    struct py_thread_pool *py_pool = (struct py_thread_pool *)object_new(module, "ThreadPool");
    if (py_pool == NULL) {
        return NULL;
    }
    py_pool->owner = stk_sys_getpid();
    py_pool->pool = thread_pool_new(threads, at_once, &error);
    if (py_pool->pool == NULL) {
        Py_DECREF((PyObject *)py_pool);
        return set_error(-error);
    }
    return (PyObject *)py_pool;
}
