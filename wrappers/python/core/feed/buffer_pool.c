/*
 * Memory of batches, used again when the last tensor over it has ended: the kernel would have to
 * clear new memory of a batch's size, page after page, each time.
 *
 * A pool has at most `most` buffers, lent ones included. If a program holds more batches, it gets
 * more buffers, and these go back to the system. In a child of fork, the parent's buffers stay the
 * parent's. The GIL must be held, except for access to the bytes.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>

#include "base/invariant.h"
#include "base/sys.h"
#include "wrappers/python/core/common/functions.h"
#include "wrappers/python/core/common/objects.h"
#include "wrappers/python/core/common/region.h"
#include "wrappers/python/core/feed/feed.h"

#define MOST       64
#define HUGE_BYTES ((size_t)4 << 20) /* from so many on, larger pages are asked for */

/* Memory of a batch's size, mapped as a whole. */
struct batch_buffer {
    struct region region;
    pid_t owner; /* the process that made it */
};

struct buffer_pool {
    PyObject_HEAD;
    unsigned most, lent, kept;
    bool shared;
    struct batch_buffer *buffers[MOST];
};

/* Memory of a batch: a part of a buffer, which goes back to the pool when the object ends. */
struct batch_memory {
    PyObject_HEAD;
    struct buffer_pool *pool;
    struct batch_buffer *buffer;
    Py_ssize_t bytes;
};

/* ---- buffers ---- */

/* Memory that a device has locked must be shared. In private memory the first process that writes
 * after a fork gets new pages. That may be the parent, whose device would go on fetching from the
 * old ones. */
static void *map(size_t bytes, bool shared)
{
    int kind = (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS;
    void *address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, kind, -1, 0);
    if (address != MAP_FAILED && bytes >= HUGE_BYTES) {
        madvise(address, bytes, MADV_HUGEPAGE); /* if it cannot be, the pages are small */
    }
    return address == MAP_FAILED ? NULL : address;
}

/* Returns NULL with an exception set. */
static struct batch_buffer *make(size_t bytes, bool shared)
{
    struct batch_buffer *buffer = calloc(1, sizeof *buffer);
    void *address = buffer != NULL ? map(bytes, shared) : NULL;
    if (address == NULL) {
        free(buffer);
        PyErr_NoMemory();
        return NULL;
    }
    buffer->owner = stk_sys_getpid();
    region_begin(&buffer->region, address, bytes);
    return buffer;
}

static void unmap(struct batch_buffer *buffer)
{
    void *address = buffer->region.address;
    size_t bytes = buffer->region.bytes;
    region_end(&buffer->region);
    munmap(address, bytes);
    free(buffer);
}

static bool is_good(const struct batch_buffer *buffer, size_t bytes)
{
    return buffer->owner == stk_sys_getpid() && buffer->region.bytes >= bytes;
}

/* Returns a kept buffer that is large enough, or a new one, for which a kept one that is too small
 * goes. */
static struct batch_buffer *find(struct buffer_pool *pool, size_t bytes)
{
    for (unsigned i = pool->kept; i-- > 0;) {
        if (is_good(pool->buffers[i], bytes)) {
            struct batch_buffer *buffer = pool->buffers[i];
            pool->buffers[i] = pool->buffers[--pool->kept];
            return buffer;
        }
    }
    if (pool->kept > 0) {
        unmap(pool->buffers[--pool->kept]);
    }
    return make(bytes, pool->shared);
}

static void put_back(struct buffer_pool *pool, struct batch_buffer *buffer)
{
    STK_INVARIANT(pool->lent > 0 && pool->kept <= MOST);
    pool->lent--;
    if (pool->lent + pool->kept < pool->most) {
        pool->buffers[pool->kept++] = buffer;
    } else {
        unmap(buffer);
    }
}

/* ---- memory ---- */

static void free_memory(PyObject *self)
{
    struct batch_memory *memory = (struct batch_memory *)self;
    if (memory->buffer != NULL) {
        put_back(memory->pool, memory->buffer);
    }
    Py_XDECREF((PyObject *)memory->pool);
    object_free(self);
}

static int get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    struct batch_memory *memory = (struct batch_memory *)self;
    return PyBuffer_FillInfo(view, self, memory->buffer->region.address, memory->bytes, 0, flags);
}

OBJECT_SPEC(feed_memory_spec, "Memory", struct batch_memory, {Py_tp_dealloc, free_memory},
            {Py_bf_getbuffer, get_buffer});

/* ---- the pool ---- */

static void free_buffer_pool(PyObject *self)
{
    struct buffer_pool *pool = (struct buffer_pool *)self;
    while (pool->kept > 0) {
        unmap(pool->buffers[--pool->kept]);
    }
    object_free(self);
}

/* pool.take(bytes): Memory, with anything in it. */
static PyObject *buffer_pool_take(PyObject *self, PyObject *size)
{
    struct buffer_pool *pool = (struct buffer_pool *)self;
    Py_ssize_t bytes = PyLong_AsSsize_t(size);
    if (bytes <= 0) {
        return PyErr_Occurred() != NULL ? NULL : PyErr_Format(PyExc_ValueError, "no bytes");
    }
    struct batch_memory *memory =
        (struct batch_memory *)object_new(PyType_GetModule(Py_TYPE(self)), "Memory");
    if (memory == NULL) {
        return NULL;
    }
    memory->pool = (struct buffer_pool *)Py_NewRef(self);
    memory->buffer = find(pool, (size_t)bytes);
    memory->bytes = bytes;
    if (memory->buffer == NULL) {
        Py_DECREF((PyObject *)memory);
        return NULL;
    }
    pool->lent++;
    return (PyObject *)memory;
}

static PyMethodDef buffer_pool_methods[] = {{"take", buffer_pool_take, METH_O, NULL},
                                            {NULL, NULL, 0, NULL}};

OBJECT_SPEC(feed_buffer_pool_spec, "BufferPool", struct buffer_pool,
            {Py_tp_dealloc, free_buffer_pool}, {Py_tp_methods, buffer_pool_methods});

/* feed_buffer_pool(most, shared): a BufferPool that keeps so many buffers, of which it knows to
 * keep 64; of shared memory or of the process's own. */
PyObject *core_feed_buffer_pool(PyObject *module, PyObject *arguments)
{
    unsigned most;
    int shared;
    if (!PyArg_ParseTuple(arguments, "Ip", &most, &shared)) {
        return NULL;
    }
    struct buffer_pool *pool = (struct buffer_pool *)object_new(module, "BufferPool");
    if (pool != NULL) {
        pool->most = most < MOST ? most : MOST;
        pool->shared = shared != 0;
    }
    return (PyObject *)pool;
}
