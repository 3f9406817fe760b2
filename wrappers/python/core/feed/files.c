/*
 * The files of batches for Python. read() and decode() begin work and return. Until are_done()
 * returns true, only are_done() and wait() may be called. read() may follow again.
 */
#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "wrappers/python/core/feed/files.h"
#include "wrappers/python/core/common/objects.h"
#include "wrappers/python/core/decode/plan_request.h"

#define STREAMED_BYTES ((Py_ssize_t)8 << 20) /* of a batch: several of them are in no cache */

/* ---- their life ---- */

PyObject *py_pool_files(PyObject *py_pool, PyObject *unused)
{
    struct files *files = (struct files *)object_new(PyType_GetModule(Py_TYPE(py_pool)), "Files");
    if (files != NULL) {
        files->py_pool = (struct py_thread_pool *)Py_NewRef(py_pool);
    }
    return (PyObject *)files;
}

/* Lets go of what they are made of; nothing is underway. */
static void let_go(struct files *files)
{
    PyBuffer_Release(&files->out);
    PyBuffer_Release(&files->read_to);
    files->space = (struct space){.data = NULL};
    files->count = 0;
    Py_CLEAR(files->paths);
    Py_CLEAR(files->plans);
}

/* In a child of fork the items stay as they are: a thread may have been busy with one. */
static void free_files(PyObject *self)
{
    struct files *files = (struct files *)self;
    struct thread_pool *pool = files->py_pool != NULL ? files->py_pool->pool : NULL;
    bool own = files->py_pool == NULL || files->py_pool->owner == stk_sys_getpid();
    if (pool != NULL && own) {
        WITHOUT_GIL(thread_pool_cancel(pool, &files->group));
    }
    for (Py_ssize_t i = 0; own && i < files->room; i++) {
        item_clear(&files->items[i]);
    }
    if (own) {
        free(files->items);
    }
    let_go(files);
    Py_XDECREF((PyObject *)files->py_pool);
    object_free(self);
}

struct thread_pool *files_idle_pool(struct files *files)
{
    struct thread_pool *pool = py_pool_get(files->py_pool);
    if (pool != NULL && !thread_pool_has_ended(&files->group)) {
        PyErr_SetString(PyExc_RuntimeError, "the files are underway");
        return NULL;
    }
    return pool;
}

static int make_room(struct files *files, Py_ssize_t count)
{
    if (count <= files->room) {
        return 0;
    }
    struct item *items = realloc(files->items, (size_t)count * sizeof *items);
    if (items == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memset(items + files->room, 0, (size_t)(count - files->room) * sizeof *items);
    files->items = items;
    files->room = count;
    return 0;
}

/* Takes an item's path. An object that is no path gives none, and Pillow reports the error later.
 */
static int take_path(struct files *files, Py_ssize_t i, PyObject *sequence)
{
    HELD PyObject *bytes = NULL, *path = PySequence_GetItem(sequence, i);
    if (path == NULL) {
        return -1;
    }
    files->items[i].path = NULL;
    files->items[i].space = &files->space;
    files->items[i].is_drawn = false;
    if (PyUnicode_FSConverter(path, &bytes)) {
        files->items[i].path = PyBytes_AsString(bytes);
        PyList_Append(files->paths, bytes);
    }
    if (PyErr_Occurred() != NULL && PyErr_ExceptionMatches(PyExc_MemoryError)) {
        return -1;
    }
    PyErr_Clear();
    return 0;
}

static int take_paths(struct files *files, Py_ssize_t count, PyObject *paths)
{
    files->paths = PyList_New(0);
    for (Py_ssize_t i = 0; files->paths != NULL && i < count; i++) {
        if (take_path(files, i, paths) != 0) {
            return -1;
        }
    }
    return files->paths != NULL ? 0 : -1;
}

static int take_space(struct files *files, PyObject *memory)
{
    if (memory == NULL || memory == Py_None) {
        return 0; /* each has its own */
    }
    if (PyObject_GetBuffer(memory, &files->read_to, PyBUF_WRITABLE) != 0) {
        return -1;
    }
    files->space.data = files->read_to.buf;
    files->space.bytes = (size_t)files->read_to.len;
    return 0;
}

/* files.read(paths, memory = None): begins to read them. They lie in `memory`, which is held until
 * let_go() or the next read(); files without room in it lie elsewhere. */
static PyObject *files_read(PyObject *self, PyObject *arguments)
{
    PyObject *paths, *memory = NULL;
    struct files *files = (struct files *)self;
    struct thread_pool *pool = files_idle_pool(files);
    if (pool == NULL || !PyArg_ParseTuple(arguments, "O|O", &paths, &memory)) {
        return NULL;
    }
    Py_ssize_t count = PySequence_Size(paths);
    if (count < 0 || make_room(files, count) != 0) {
        return NULL;
    }
    let_go(files);
    if (take_space(files, memory) != 0 || take_paths(files, count, paths) != 0) {
        return NULL;
    }
    files->count = count;
    files->group.work = item_read;
    thread_pool_add(pool, &files->group, POOL_URGENT, files->items, (size_t)count,
                    sizeof *files->items);
    Py_RETURN_NONE;
}

/* files.wanted(): how many bytes of memory all files would have filled. */
static PyObject *files_wanted(PyObject *self, PyObject *unused)
{
    struct files *files = (struct files *)self;
    return files_idle_pool(files) == NULL ? NULL : PyLong_FromSize_t(files->space.taken);
}

/* files.are_done(): whether nothing is underway. */
static PyObject *files_are_done(PyObject *self, PyObject *unused)
{
    struct files *files = (struct files *)self;
    struct thread_pool *pool = py_pool_get(files->py_pool);
    return pool == NULL ? NULL : PyBool_FromLong(thread_pool_has_ended(&files->group));
}

/* files.wait(ends): as the pool's, but only their own end counts. */
static PyObject *files_wait(PyObject *self, PyObject *number)
{
    struct files *files = (struct files *)self;
    return py_pool_wait_for(files->py_pool, number, &files->group);
}

unsigned long long files_kind(const struct item *item)
{
    const struct stk_jpeg_info *info = &item->info;
    unsigned long long kind = 0,
                       parts[] = {info->components,  (unsigned)info->color, info->precision,
                                  info->progressive, info->arithmetic,      info->multiscan,
                                  item->sound,       info->end != 0};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        kind |= (parts[i] & (i < 3 ? 15 : 1)) << (i < 3 ? 4 * i : 9 + i);
    }
    for (int i = 0; i < ITEM_COMPONENTS; i++) {
        kind |= (unsigned long long)item->sampling[i] << (24 + 8 * i);
    }
    return kind;
}

/* The item that a number is of, if nothing of the files is underway; or NULL with an exception set.
 */
struct item *files_item(struct files *files, PyObject *number)
{
    Py_ssize_t i = files_idle_pool(files) == NULL ? -1 : PyLong_AsSsize_t(number);
    if (i >= 0 && i < files->count) {
        return &files->items[i];
    }
    if (PyErr_Occurred() == NULL) {
        PyErr_SetString(PyExc_IndexError, "no such file");
    }
    return NULL;
}

/* files.head(i): what was found of it: (width, height, end of the image, kind: files.h), or None if
 * it is no JPEG that can be read. */
static PyObject *files_head(PyObject *self, PyObject *number)
{
    const struct item *item = files_item((struct files *)self, number);
    if (item == NULL) {
        return NULL;
    }
    return item->found == ITEM_NOTHING
               ? Py_NewRef(Py_None)
               : Py_BuildValue("IInK", item->info.width, item->info.height,
                               (Py_ssize_t)item->info.end, files_kind(item));
}

/* ---- decoding ---- */

/* The layout of a batch's images (plan_request.h). */
struct end {
    struct stk_plan plan; /* of which only the layout is set */
    PyObject *table;
};

/* Where the item's row goes, by its plan, which lacks the table. 0, or -1 with an exception set. */
static int take_row(struct files *files, Py_ssize_t i, PyObject *table, size_t row_bytes)
{
    struct item *item = &files->items[i];
    if (item->found == ITEM_NOTHING || plan_lay_out(&item->plan, &item->target) != 0 ||
        item->target.bytes != row_bytes ||
        (item->plan.type == STK_TYPE_F32 &&
         (!PyBytes_Check(table) ||
          PyBytes_Size(table) != (Py_ssize_t)plan_table_bytes(&item->plan)))) {
        PyErr_SetString(PyExc_ValueError, "not a row of this batch");
        return -1;
    }
    item->plan.table =
        item->plan.type == STK_TYPE_F32 ? (const float *)PyBytes_AsString(table) : NULL;
    item->target.data = (char *)files->out.buf + (size_t)i * row_bytes;
    item->target.streamed = files->out.len >= STREAMED_BYTES;
    item->is_wanted = true;
    return 0;
}

static int take_drawn(struct files *files, Py_ssize_t i, const struct end *end, size_t row_bytes)
{
    struct stk_plan *plan = &files->items[i].plan;
    plan->channels = end->plan.channels;
    plan->layout = end->plan.layout;
    plan->type = end->plan.type;
    return take_row(files, i, end->table, row_bytes);
}

/* The plans that Python has made: {i: plan}. */
static int take_requests(struct files *files, PyObject *requests, size_t row_bytes)
{
    Py_ssize_t at = 0;
    PyObject *number, *request, *table;
    while (PyDict_Next(requests, &at, &number, &request)) {
        struct item *item = files_item(files, number);
        if (item == NULL || plan_of(&item->plan, request, &table) != 0 ||
            take_row(files, item - files->items, table, row_bytes) != 0) {
            return -1;
        }
    }
    return 0;
}

static int take_plans(struct files *files, PyObject *requests, const struct end *end,
                      size_t row_bytes)
{
    for (Py_ssize_t i = 0; i < files->count; i++) {
        files->items[i].status = STK_DECODE_OK;
        files->items[i].is_wanted = false;
        if (files->items[i].is_drawn && take_drawn(files, i, end, row_bytes) != 0) {
            return -1;
        }
    }
    return take_requests(files, requests, row_bytes);
}

static int take_out(struct files *files, PyObject *out, size_t row_bytes)
{
    if (PyObject_GetBuffer(out, &files->out, PyBUF_WRITABLE) != 0) {
        return -1;
    }
    if ((size_t)files->out.len / row_bytes < (size_t)files->count) {
        PyErr_SetString(PyExc_ValueError, "the batch is larger than its memory");
        return -1;
    }
    return 0;
}

/* files.decode(requests, layout, out, row_bytes): begins to decode what was drawn, with this
 * layout, and those in `requests`, {i: plan}, each to where its row lies in `out`. Once after each
 * read(). plan_request.h describes plans and layouts. */
static PyObject *files_decode(PyObject *self, PyObject *arguments)
{
    struct files *files = (struct files *)self;
    PyObject *requests, *layout, *out;
    Py_ssize_t row_bytes;
    struct end end;
    struct thread_pool *pool = files_idle_pool(files);
    if (pool == NULL ||
        !PyArg_ParseTuple(arguments, "O!O!On", &PyDict_Type, &requests, &PyTuple_Type, &layout,
                          &out, &row_bytes) ||
        layout_of(&end.plan, layout, &end.table) != 0) {
        return NULL;
    }
    if (files->out.obj != NULL || row_bytes <= 0) {
        return PyErr_Format(PyExc_ValueError, "rows of some size, once");
    }
    if (take_out(files, out, (size_t)row_bytes) != 0) {
        return NULL;
    }
    files->plans = Py_NewRef(arguments);
    if (take_plans(files, requests, &end, (size_t)row_bytes) != 0) {
        return NULL;
    }
    files->group.work = item_decode;
    thread_pool_add(pool, &files->group, POOL_USUAL, files->items, (size_t)files->count,
                    sizeof *files->items);
    Py_RETURN_NONE;
}

/* files.failed(): which of them could not be decoded. */
static PyObject *files_failed(PyObject *self, PyObject *unused)
{
    struct files *files = (struct files *)self;
    PyObject *failed = files_idle_pool(files) == NULL ? NULL : PyList_New(0);
    for (Py_ssize_t i = 0; failed != NULL && i < files->count; i++) {
        if (files->items[i].is_wanted && files->items[i].status != STK_DECODE_OK) {
            HELD PyObject *number = PyLong_FromSsize_t(i);
            if (number == NULL || PyList_Append(failed, number) != 0) {
                Py_CLEAR(failed);
            }
        }
    }
    return failed;
}

/* files.let_go(): holds nothing any more but room for the next ones. */
static PyObject *files_let_go(PyObject *self, PyObject *unused)
{
    struct files *files = (struct files *)self;
    if (files_idle_pool(files) == NULL) {
        return NULL;
    }
    let_go(files);
    Py_RETURN_NONE;
}

static PyMethodDef files_methods[] = {
    {"read", files_read, METH_VARARGS, NULL},
    {"wanted", files_wanted, METH_NOARGS, NULL},
    {"are_done", files_are_done, METH_NOARGS, NULL},
    {"wait", files_wait, METH_O, NULL},
    {"head", files_head, METH_O, NULL},
    {"draw", files_draw, METH_VARARGS, NULL},
    {"drawn_size", files_drawn_size, METH_NOARGS, NULL},
    {"drawn", files_drawn, METH_O, NULL},
    {"decode", files_decode, METH_VARARGS, NULL},
    {"failed", files_failed, METH_NOARGS, NULL},
    {"let_go", files_let_go, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

OBJECT_SPEC(feed_files_spec, "Files", struct files, {Py_tp_dealloc, free_files},
            {Py_tp_methods, files_methods});
