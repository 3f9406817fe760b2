/*
 * The counts of this process lie in plain memory; a child of fork goes on from its parent's. The
 * counts of the run lie in the run's tally, if there is one.
 */
#include <stdatomic.h>

#include "base/tally.h"
#include "wrappers/python/core/common/counts.h"
#include "wrappers/python/core/common/functions.h"
#include "wrappers/python/core/common/objects.h"

static _Atomic uint64_t own[STK_TALLY_SLOTS];
static _Atomic(struct stk_tally *) shared;

/* join(run): also counts in the tally of that run's file. Returns true if there is one. */
PyObject *core_join(PyObject *module, PyObject *run)
{
    char path[4096];
    PyObject *bytes = NULL;
    if (!PyUnicode_FSConverter(run, &bytes)) {
        return NULL;
    }
    struct stk_tally *tally = NULL;
    if (stk_tally_path(path, sizeof path, PyBytes_AsString(bytes))) {
        tally = stk_tally_open(path);
    }
    Py_DECREF(bytes);
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
        PyErr_SetString(PyExc_TypeError, "a slot, and how many");
        return NULL;
    }
    if (!take_u32(arguments[0], &slot)) {
        return NULL;
    }
    unsigned long long more = count == 2 ? PyLong_AsUnsignedLongLong(arguments[1]) : 1;
    if (PyErr_Occurred() != NULL) {
        return NULL;
    }
    if (slot >= STK_TALLY_SLOTS) {
        PyErr_SetString(PyExc_ValueError, "no such slot");
        return NULL;
    }
    count_more(slot, more);
    Py_RETURN_NONE;
}

/* Takes the loader and the pass, and then a step of the pass (base/tally.h). Times are those of
 * time.monotonic_ns(). */
static PyObject *take_pass(PyObject *arguments, void (*done)(struct stk_tally *, const unsigned[2],
                                                             const unsigned long long[5]))
{
    unsigned place[2];
    unsigned long long values[5] = {0};
    struct stk_tally *tally = atomic_load(&shared);
    if (!PyArg_ParseTuple(arguments, "IIKKK|KK", &place[0], &place[1], &values[0], &values[1],
                          &values[2], &values[3], &values[4])) {
        return NULL;
    }
    if (tally != NULL) {
        done(tally, place, values);
    }
    Py_RETURN_NONE;
}

static void begin_pass(struct stk_tally *tally, const unsigned place[2],
                       const unsigned long long values[5])
{
    stk_tally_begin_pass(tally, place[0], place[1],
                         &(struct stk_tally_pass){
                             .begun_ns = values[0], .expected = values[1], .workers = values[2]});
}

/* begin_pass(loader, number, begun_ns, expected, workers) */
PyObject *core_begin_pass(PyObject *module, PyObject *arguments)
{
    return take_pass(arguments, begin_pass);
}

static void add_pass(struct stk_tally *tally, const unsigned place[2],
                     const unsigned long long values[5])
{
    stk_tally_add_pass(tally, place[0], place[1],
                       &(struct stk_tally_pass){.ended_ns = values[0],
                                                .lasted_ns = values[1],
                                                .waited_ns = values[2],
                                                .samples = values[3],
                                                .batches = values[4]});
}

/* add_pass(loader, number, ended_ns, lasted_ns, waited_ns, samples, batches) */
PyObject *core_add_pass(PyObject *module, PyObject *arguments)
{
    return take_pass(arguments, add_pass);
}

/* counts(): {name: this process's count}, in the order of the slots. */
PyObject *core_counts(PyObject *module, PyObject *unused)
{
    PyObject *all = PyDict_New();
    for (unsigned slot = 0; all != NULL && slot < STK_TALLY_SLOTS; slot++) {
        PyObject *count = PyLong_FromUnsignedLongLong(atomic_load(&own[slot]));
        if (count == NULL || PyDict_SetItemString(all, stk_tally_name(slot), count) != 0) {
            Py_CLEAR(all);
        }
        Py_XDECREF(count);
    }
    return all;
}
