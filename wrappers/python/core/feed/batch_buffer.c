/*
 * Memory that a device has locked must be shared. In private memory the first process that writes
 * after a fork gets new pages. That may be the parent, whose device would go on fetching from the
 * old ones.
 */
#include "wrappers/python/core/feed/batch_buffer.h"

#include <sys/mman.h>

#include "base/invariant.h"
#include "base/sys.h"
#include "wrappers/python/core/common/functions.h"
#include "wrappers/python/core/common/ends.h"
#include "wrappers/python/core/common/objects.h"

#define HUGE_BYTES ((size_t)4 << 20) /* from so many on, larger pages are asked for */

struct batch_buffer {
    PyObject_HEAD;
    unsigned char *address;
    size_t bytes;
    pid_t owner;
    PyObject *ends; /* what is called before it is unmapped */
    struct batch_buffer *next;
};

static struct batch_buffer *known; /* all that there are */

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

PyObject *batch_buffer_make(PyObject *module, size_t bytes, bool shared)
{
    struct batch_buffer *buffer = (struct batch_buffer *)object_new(module, "BatchBuffer");
    if (buffer == NULL) {
        return NULL;
    }
    buffer->address = map(bytes, shared);
    buffer->bytes = bytes;
    buffer->owner = stk_sys_getpid();
    buffer->next = known;
    known = buffer;
    if (buffer->address == NULL) {
        Py_DECREF((PyObject *)buffer);
        return PyErr_NoMemory();
    }
    return (PyObject *)buffer;
}

static void forget(const struct batch_buffer *buffer)
{
    struct batch_buffer **at = &known;
    while (*at != buffer) {
        STK_INVARIANT(*at != NULL);
        at = &(*at)->next;
    }
    *at = buffer->next;
}

static void free_buffer(PyObject *self)
{
    struct batch_buffer *buffer = (struct batch_buffer *)self;
    forget(buffer);
    ends_call(&buffer->ends);
    if (buffer->address != NULL) {
        munmap(buffer->address, buffer->bytes);
    }
    object_free(self);
}

/* ---- for the pool ---- */

void *batch_buffer_address(PyObject *buffer)
{
    return ((struct batch_buffer *)buffer)->address;
}

size_t batch_buffer_bytes(PyObject *buffer)
{
    return ((struct batch_buffer *)buffer)->bytes;
}

bool batch_buffer_is_own(PyObject *buffer)
{
    return ((struct batch_buffer *)buffer)->owner == stk_sys_getpid();
}

/* ---- for whoever locks it ---- */

static struct batch_buffer *find(const unsigned char *address)
{
    struct batch_buffer *buffer = known;
    while (buffer != NULL &&
           (address < buffer->address || address >= buffer->address + buffer->bytes)) {
        buffer = buffer->next;
    }
    return buffer;
}

/* feed_buffer_at(address): returns the BatchBuffer that the address lies in, or None. */
PyObject *core_feed_buffer_at(PyObject *module, PyObject *object)
{
    const void *address = PyLong_AsVoidPtr(object);
    if (PyErr_Occurred() != NULL) {
        return NULL;
    }
    struct batch_buffer *buffer = find(address);
    return Py_NewRef(buffer == NULL ? Py_None : (PyObject *)buffer);
}

/* buffer.memory(): (where it begins, bytes). */
static PyObject *buffer_memory(PyObject *self, PyObject *unused)
{
    const struct batch_buffer *buffer = (struct batch_buffer *)self;
    return Py_BuildValue("KK", (unsigned long long)(uintptr_t)buffer->address,
                         (unsigned long long)buffer->bytes);
}

/* buffer.before_unmap(function): has it called once, when the buffer is about to be unmapped. */
static PyObject *buffer_before_unmap(PyObject *self, PyObject *function)
{
    return ends_add(&((struct batch_buffer *)self)->ends, function) != 0 ? NULL
                                                                         : Py_NewRef(Py_None);
}

static PyMethodDef methods[] = {
    {"memory", buffer_memory, METH_NOARGS, NULL},
    {"before_unmap", buffer_before_unmap, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

OBJECT_SPEC(feed_buffer_spec, "BatchBuffer", struct batch_buffer, {Py_tp_dealloc, free_buffer},
            {Py_tp_methods, methods});
