/*
 * Memory that batches lie in, as the system gives it. See area.h.
 *
 * What a device has locked is shared memory. Of private memory the first who writes after a fork
 * gets other pages, and that may be the parent, whose device goes on fetching from the old ones.
 */
#include "wrappers/python/core/feed/area.h"

#include <sys/mman.h>

#include "base/sys.h"
#include "wrappers/python/core/ends.h"
#include "wrappers/python/core/slots.h"

#define HUGE_BYTES ((size_t)4 << 20) /* from so many on, larger pages are asked for */

struct area {
    PyObject_HEAD;
    unsigned char *address;
    size_t bytes;
    pid_t owner;
    PyObject *ends; /* what is called before it is unmapped */
    struct area *next;
};

static struct area *known; /* all that there are */

/* ---- its life ---- */

static void *map(size_t bytes, bool shared)
{
    int kind = (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS;
    void *address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, kind, -1, 0);
    if (address != MAP_FAILED && bytes >= HUGE_BYTES) {
        madvise(address, bytes, MADV_HUGEPAGE); /* if it cannot be, the pages are small */
    }
    return address == MAP_FAILED ? NULL : address;
}

PyObject *feed_area_make(PyObject *module, size_t bytes, bool shared)
{
    struct area *area = (struct area *)slots_new(module, "Area");
    if (area == NULL) {
        return NULL;
    }
    area->address = map(bytes, shared);
    area->bytes = bytes;
    area->owner = stk_sys_getpid();
    area->next = known;
    known = area;
    if (area->address == NULL) {
        Py_DECREF((PyObject *)area);
        return PyErr_NoMemory();
    }
    return (PyObject *)area;
}

static void forget(const struct area *area)
{
    struct area **at = &known;
    while (*at != area) {
        at = &(*at)->next;
    }
    *at = area->next;
}

static void free_area(PyObject *self)
{
    struct area *area = (struct area *)self;
    forget(area);
    ends_call(&area->ends);
    if (area->address != NULL) {
        munmap(area->address, area->bytes);
    }
    slots_free(self);
}

/* ---- for the stock ---- */

void *feed_area_address(PyObject *area)
{
    return ((struct area *)area)->address;
}

size_t feed_area_bytes(PyObject *area)
{
    return ((struct area *)area)->bytes;
}

bool feed_area_is_own(PyObject *area)
{
    return ((struct area *)area)->owner == stk_sys_getpid();
}

/* ---- for whoever locks it ---- */

static struct area *find(const unsigned char *address)
{
    struct area *area = known;
    while (area != NULL && (address < area->address || address >= area->address + area->bytes)) {
        area = area->next;
    }
    return area;
}

PyObject *core_feed_area_at(PyObject *module, PyObject *object)
{
    (void)module;
    const void *address = PyLong_AsVoidPtr(object);
    if (PyErr_Occurred() != NULL) {
        return NULL;
    }
    struct area *area = find(address);
    return Py_NewRef(area == NULL ? Py_None : (PyObject *)area);
}

/* area.memory(): (where it begins, bytes). */
static PyObject *area_memory(PyObject *self, PyObject *unused)
{
    (void)unused;
    const struct area *area = (struct area *)self;
    return Py_BuildValue("KK", (unsigned long long)(uintptr_t)area->address,
                         (unsigned long long)area->bytes);
}

/* area.before_unmap(function): has it called once, when the area is about to be unmapped. */
static PyObject *area_before_unmap(PyObject *self, PyObject *function)
{
    return ends_add(&((struct area *)self)->ends, function) != 0 ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef methods[] = {
    {"memory", area_memory, METH_NOARGS, NULL},
    {"before_unmap", area_before_unmap, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, free_area},
    {Py_tp_methods, methods},
    {0, NULL},
};

PyType_Spec feed_area_spec = {
    "stoker._core.Area",
    sizeof(struct area),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    slots,
};
