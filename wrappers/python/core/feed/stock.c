/*
 * Memory that batches lie in, given again when the last tensor over it has ended: new memory of a
 * batch's size is page after page of zeros, each time. See feed.h.
 *
 * A stock keeps no more than it was told to, what is lent counted. Whoever holds on to more batches
 * has more; these are given back to the system. In a child of fork, what its parent has left there
 * is the parent's.
 */
#include "wrappers/python/core/feed/area.h"
#include "wrappers/python/core/feed/feed.h"
#include "wrappers/python/core/slots.h"

#define MOST 64

struct stock {
    PyObject_HEAD;
    unsigned most, lent, kept;
    bool shared;
    PyObject *areas[MOST];
};

/* A buffer; it lies in an area that is the stock's again when the object ends. */
struct memory {
    PyObject_HEAD;
    struct stock *stock;
    PyObject *area;
    Py_ssize_t bytes;
};

/* ---- areas ---- */

static bool is_good(PyObject *area, size_t bytes)
{
    return feed_area_is_own(area) && feed_area_bytes(area) >= bytes;
}

/* One that is kept and large enough; one that is too small makes room for it. */
static PyObject *find(struct stock *stock, PyObject *module, size_t bytes)
{
    for (unsigned i = stock->kept; i-- > 0;) {
        if (is_good(stock->areas[i], bytes)) {
            PyObject *area = stock->areas[i];
            stock->areas[i] = stock->areas[--stock->kept];
            return area;
        }
    }
    if (stock->kept > 0) {
        Py_DECREF(stock->areas[--stock->kept]);
    }
    return feed_area_make(module, bytes, stock->shared);
}

static void put_back(struct stock *stock, PyObject *area)
{
    stock->lent--;
    if (stock->lent + stock->kept < stock->most) {
        stock->areas[stock->kept++] = area;
    } else {
        Py_DECREF(area);
    }
}

/* ---- memory ---- */

static void free_memory(PyObject *self)
{
    struct memory *memory = (struct memory *)self;
    if (memory->area != NULL) {
        put_back(memory->stock, memory->area);
    }
    Py_XDECREF((PyObject *)memory->stock);
    slots_free(self);
}

static int get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    struct memory *memory = (struct memory *)self;
    return PyBuffer_FillInfo(view, self, feed_area_address(memory->area), memory->bytes, 0, flags);
}

static PyType_Slot memory_slots[] = {
    {Py_tp_dealloc, free_memory},
    {Py_bf_getbuffer, get_buffer},
    {0, NULL},
};

PyType_Spec feed_memory_spec = {
    "stoker._core.Memory",
    sizeof(struct memory),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    memory_slots,
};

/* ---- the stock ---- */

static void free_stock(PyObject *self)
{
    struct stock *stock = (struct stock *)self;
    while (stock->kept > 0) {
        Py_DECREF(stock->areas[--stock->kept]);
    }
    slots_free(self);
}

/* stock.take(bytes): Memory, with anything in it. */
static PyObject *stock_take(PyObject *self, PyObject *size)
{
    struct stock *stock = (struct stock *)self;
    Py_ssize_t bytes = PyLong_AsSsize_t(size);
    if (bytes <= 0) {
        return PyErr_Occurred() != NULL ? NULL : PyErr_Format(PyExc_ValueError, "no bytes");
    }
    PyObject *module = PyType_GetModule(Py_TYPE(self));
    struct memory *memory = (struct memory *)slots_new(module, "Memory");
    if (memory == NULL) {
        return NULL;
    }
    memory->stock = (struct stock *)Py_NewRef(self);
    memory->area = find(stock, module, (size_t)bytes);
    memory->bytes = bytes;
    if (memory->area == NULL) {
        Py_DECREF((PyObject *)memory);
        return NULL;
    }
    stock->lent++;
    return (PyObject *)memory;
}

static PyMethodDef stock_methods[] = {{"take", stock_take, METH_O, NULL}, {NULL, NULL, 0, NULL}};

static PyType_Slot stock_slots[] = {
    {Py_tp_dealloc, free_stock},
    {Py_tp_methods, stock_methods},
    {0, NULL},
};

PyType_Spec feed_stock_spec = {
    "stoker._core.Stock",
    sizeof(struct stock),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    stock_slots,
};

/* feed_stock(most, shared): a Stock that keeps so many areas, of which it knows to keep 64; of
 * shared memory or of the process's own. */
PyObject *core_feed_stock(PyObject *module, PyObject *arguments)
{
    unsigned most;
    int shared;
    if (!PyArg_ParseTuple(arguments, "Ip", &most, &shared)) {
        return NULL;
    }
    struct stock *stock = (struct stock *)slots_new(module, "Stock");
    if (stock != NULL) {
        stock->most = most < MOST ? most : MOST;
        stock->shared = shared != 0;
    }
    return (PyObject *)stock;
}
