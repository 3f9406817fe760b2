/*
 * The counts of this process lie in plain memory; a child of fork goes on from its parent's. The
 * counts of the run lie in the run's tally, if there is one.
 */
#include <stdatomic.h>

#include "base/rank.h"
#include "base/tally.h"
#include "wrappers/python/core/common/counts.h"
#include "wrappers/python/core/common/functions.h"
#include "wrappers/python/core/common/objects.h"

static _Atomic uint64_t own[STK_TALLY_SLOTS];
static _Atomic(struct stk_tally *) shared;
static _Atomic int own_rank = STK_RANK_NONE; /* of this process, at the last beginning of a pass */

/* join(run): also counts in the tally of that run's file. Returns true if there is one. */
PyObject *core_join(PyObject *module, PyObject *run)
{
    char path[4096];
    HELD PyObject *bytes = NULL;
    if (!PyUnicode_FSConverter(run, &bytes)) {
        return NULL;
    }
    struct stk_tally *tally = NULL;
    if (stk_tally_path(path, sizeof path, PyBytes_AsString(bytes))) {
        tally = stk_tally_open(path);
    }
    atomic_store(&shared, tally); /* one of before stays mapped: another thread may be counting */
    return PyBool_FromLong(tally != NULL);
}

void count_more(unsigned slot, uint64_t count)
{
    struct stk_tally *tally = atomic_load(&shared);
    atomic_fetch_add(&own[slot], count);
    if (tally != NULL) {
        stk_tally_add(tally, slot, count);
    }
}

/* count(slot, how many = 1) */
PyObject *core_count(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    uint32_t slot;
    if (count < 1 || count > 2) {
        return PyErr_Format(PyExc_TypeError, "a slot, and how many");
    }
    if (!take_u32(arguments[0], &slot)) {
        return NULL;
    }
    unsigned long long more = count == 2 ? PyLong_AsUnsignedLongLong(arguments[1]) : 1;
    if (PyErr_Occurred() != NULL) {
        return NULL;
    }
    if (slot >= STK_TALLY_SLOTS) {
        return PyErr_Format(PyExc_ValueError, "no such slot");
    }
    count_more(slot, more);
    Py_RETURN_NONE;
}

/* begin_pass(loader, number, begun_ns, expected, workers): for the run's summary (base/tally.h).
 * Times are those of time.monotonic_ns(). */
PyObject *core_begin_pass(PyObject *module, PyObject *arguments)
{
    unsigned loader, number;
    unsigned long long begun_ns, expected, workers;
    struct stk_tally *tally = atomic_load(&shared);
    if (!PyArg_ParseTuple(arguments, "IIKKK", &loader, &number, &begun_ns, &expected, &workers)) {
        return NULL;
    }
    if (tally != NULL) {
        const struct stk_tally_pass pass = {
            .begun_ns = begun_ns, .expected = expected, .workers = workers};
        stk_tally_begin_pass(tally, loader, number, &pass);
        atomic_store(&own_rank, stk_rank_own());
    }
    Py_RETURN_NONE;
}

/* add_pass(loader, number, ended_ns, lasted_ns, waited_ns, samples, batches): a step of a pass. */
PyObject *core_add_pass(PyObject *module, PyObject *arguments)
{
    unsigned loader, number;
    unsigned long long ended_ns, lasted_ns, waited_ns, samples, batches;
    struct stk_tally *tally = atomic_load(&shared);
    if (!PyArg_ParseTuple(arguments, "IIKKKKK", &loader, &number, &ended_ns, &lasted_ns, &waited_ns,
                          &samples, &batches)) {
        return NULL;
    }
    if (tally != NULL) {
        const struct stk_tally_pass pass = {.ended_ns = ended_ns,
                                            .lasted_ns = lasted_ns,
                                            .waited_ns = waited_ns,
                                            .samples = samples,
                                            .batches = batches};
        stk_tally_add_pass(tally, loader, number, atomic_load(&own_rank), &pass);
    }
    Py_RETURN_NONE;
}

/* add_call(name, ns): the time of a call of the job's own, for the run's summary. */
PyObject *core_add_call(PyObject *module, PyObject *arguments)
{
    const char *name;
    unsigned long long ns;
    struct stk_tally *tally = atomic_load(&shared);
    if (!PyArg_ParseTuple(arguments, "sK", &name, &ns)) {
        return NULL;
    }
    if (tally != NULL) {
        stk_tally_add_call(tally, name, ns);
    }
    Py_RETURN_NONE;
}

/* counts(): {name: this process's count}, in the order of the slots. */
PyObject *core_counts(PyObject *module, PyObject *unused)
{
    PyObject *all = PyDict_New();
    for (unsigned slot = 0; all != NULL && slot < STK_TALLY_SLOTS; slot++) {
        HELD PyObject *count = PyLong_FromUnsignedLongLong(atomic_load(&own[slot]));
        if (count == NULL || PyDict_SetItemString(all, stk_tally_name(slot), count) != 0) {
            Py_CLEAR(all);
        }
    }
    return all;
}
