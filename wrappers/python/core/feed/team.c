/* A crew for Python. See team.h. */
#include "wrappers/python/core/feed/team.h"

#include <errno.h>

#include "base/clock.h"
#include "base/sys.h"
#include "wrappers/python/core/feed/feed.h"
#include "wrappers/python/core/feed/files.h"
#include "wrappers/python/core/slots.h"

#define MOST_THREADS 1024

static void free_crew(struct team *team)
{
    struct crew *crew = team->crew;
    team->crew = NULL;
    Py_BEGIN_ALLOW_THREADS;
    crew_free(crew);
    Py_END_ALLOW_THREADS;
}

static void free_team(PyObject *self)
{
    free_crew((struct team *)self);
    slots_free(self);
}

struct crew *team_crew(struct team *team)
{
    if (team->crew == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "the crew was closed");
        return NULL;
    }
    if (!crew_is_own(team->crew)) {
        PyErr_SetString(PyExc_RuntimeError, "the crew is another process's");
        return NULL;
    }
    return team->crew;
}

/* crew.close(): ends its threads. What was underway is not done. */
static PyObject *team_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    const struct team *team = (struct team *)self;
    if (team->waiting > 0 && team->owner == stk_sys_getpid()) {
        PyErr_SetString(PyExc_RuntimeError, "another thread waits for this crew");
        return NULL;
    }
    free_crew((struct team *)self);
    Py_RETURN_NONE;
}

/* crew.ends(): how many times something has come to its end. */
static PyObject *team_ends(PyObject *self, PyObject *unused)
{
    (void)unused;
    struct crew *crew = team_crew((struct team *)self);
    return crew == NULL ? NULL : PyLong_FromUnsignedLong(crew_ends(crew));
}

/* Until something has ended since; if `group` is something, until that has. */
static void wait_for(struct crew *crew, uint32_t ends, const struct crew_group *group)
{
    int64_t until = stk_sys_clock_ns(CLOCK_MONOTONIC) + STK_NS_PER_S, left = STK_NS_PER_S;
    bool woken = true;
    while (woken && left > 0 && (group == NULL || !crew_has_ended(group))) {
        crew_wait(crew, ends, left);
        woken = group != NULL && crew_ends(crew) != ends; /* else a signal, or the time */
        ends = crew_ends(crew);
        left = until - stk_sys_clock_ns(CLOCK_MONOTONIC);
    }
}

PyObject *team_wait_for(struct team *team, PyObject *number, const struct crew_group *group)
{
    uint32_t ends;
    struct crew *crew = team_crew(team);
    if (crew == NULL || !take_u32(number, &ends)) {
        return NULL;
    }
    team->waiting++;
    Py_BEGIN_ALLOW_THREADS;
    wait_for(crew, ends, group);
    Py_END_ALLOW_THREADS;
    team->waiting--;
    Py_RETURN_NONE;
}

/* crew.wait(ends): until ends() says something else, for a second, or until a signal's
 * handler is to run. */
static PyObject *team_wait(PyObject *self, PyObject *number)
{
    return team_wait_for((struct team *)self, number, NULL);
}

/* crew.files(): Files that are none yet. */
static PyObject *team_files(PyObject *self, PyObject *unused)
{
    (void)unused;
    return files_new((struct team *)self);
}

static PyMethodDef team_methods[] = {
    {"close", team_close, METH_NOARGS, NULL},
    {"ends", team_ends, METH_NOARGS, NULL},
    {"wait", team_wait, METH_O, NULL},
    {"files", team_files, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot team_slots[] = {
    {Py_tp_dealloc, free_team},
    {Py_tp_methods, team_methods},
    {0, NULL},
};

PyType_Spec feed_crew_spec = {
    "stoker._core.Crew",
    sizeof(struct team),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    team_slots,
};

/* feed_crew(threads, at_once = threads): a Crew of so many, or as many as can be had, of which
 * `at_once` decode; OSError: of none. */
PyObject *core_feed_crew(PyObject *module, PyObject *arguments)
{
    uint32_t threads, at_once = MOST_THREADS;
    int error;
    if (!PyArg_ParseTuple(arguments, "O&|O&", take_u32, &threads, take_u32, &at_once)) {
        return NULL;
    }
    if (threads == 0 || at_once == 0 || threads > MOST_THREADS) {
        return PyErr_Format(PyExc_ValueError, "threads are from 1 to %d", MOST_THREADS);
    }
    struct team *team = (struct team *)slots_new(module, "Crew");
    if (team == NULL) {
        return NULL;
    }
    team->owner = stk_sys_getpid();
    team->crew = crew_new(threads, at_once, &error);
    if (team->crew == NULL) {
        Py_DECREF((PyObject *)team);
        errno = -error;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    return (PyObject *)team;
}
