/*
 * Memory that batches lie in, given again when the last tensor over it has ended: new memory of a
 * batch's size is page after page of zeros, each time. See feed.h.
 *
 * A stock keeps no more than it was told to, what is lent counted. Whoever holds on to more batches
 * has more; these are given back to the system.
 */
#include <sys/mman.h>

#include "wrappers/python/core/feed/feed.h"
#include "wrappers/python/core/slots.h"

#define MOST       64
#define HUGE_BYTES ((size_t)4 << 20) /* from so many on, larger pages are asked for */

struct area {
    void *address;
    size_t bytes;
};

struct stock {
    PyObject_HEAD;
    unsigned most, lent, kept;
    struct area areas[MOST];
};

/* A buffer; it lies in an area that is the stock's again when the object ends. */
struct memory {
    PyObject_HEAD;
    struct stock *stock;
    struct area area;
    Py_ssize_t bytes;
};

/* ---- areas ---- */

static void drop(struct area area)
{
    munmap(area.address, area.bytes);
}

static struct area make(size_t bytes)
{
    struct area area = {.bytes = bytes};
    area.address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area.address == MAP_FAILED) {
        area.address = NULL;
    } else if (bytes >= HUGE_BYTES) {
        madvise(area.address, bytes, MADV_HUGEPAGE); /* if it cannot be, the pages are small */
    }
    return area;
}

/* One that is kept and large enough; one that is too small makes room for it. */
static struct area find(struct stock *stock, size_t bytes)
{
    for (unsigned i = stock->kept; i-- > 0;) {
        if (stock->areas[i].bytes >= bytes) {
            struct area area = stock->areas[i];
            stock->areas[i] = stock->areas[--stock->kept];
            return area;
        }
    }
    if (stock->kept > 0) {
        drop(stock->areas[--stock->kept]);
    }
    return make(bytes);
}

static void put_back(struct stock *stock, struct area area)
{
    stock->lent--;
    if (stock->lent + stock->kept < stock->most) {
        stock->areas[stock->kept++] = area;
    } else {
        drop(area);
    }
}

/* ---- memory ---- */

static void free_memory(PyObject *self)
{
    struct memory *memory = (struct memory *)self;
    if (memory->area.address != NULL) {
        put_back(memory->stock, memory->area);
    }
    Py_XDECREF((PyObject *)memory->stock);
    slots_free(self);
}

static int get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    struct memory *memory = (struct memory *)self;
    return PyBuffer_FillInfo(view, self, memory->area.address, memory->bytes, 0, flags);
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
        drop(stock->areas[--stock->kept]);
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
    struct memory *memory = (struct memory *)slots_new(PyType_GetModule(Py_TYPE(self)), "Memory");
    if (memory == NULL) {
        return NULL;
    }
    memory->stock = (struct stock *)Py_NewRef(self);
    memory->area = find(stock, (size_t)bytes);
    memory->bytes = bytes;
    if (memory->area.address == NULL) {
        Py_DECREF((PyObject *)memory);
        return PyErr_NoMemory();
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

/* feed_stock(most): a Stock that keeps so many areas, of which it knows to keep 64. */
PyObject *core_feed_stock(PyObject *module, PyObject *number)
{
    uint32_t most;
    if (!take_u32(number, &most)) {
        return NULL;
    }
    struct stock *stock = (struct stock *)slots_new(module, "Stock");
    if (stock != NULL) {
        stock->most = most < MOST ? most : MOST;
    }
    return (PyObject *)stock;
}
