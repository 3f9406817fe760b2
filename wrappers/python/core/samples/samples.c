/*
 * stoker._samples_core: the sample store for Python. A module of its own, since it needs liblmdb at
 * run time: without that, everything else goes on.
 */
#include <string.h>

#include "base/options.h"
#include "base/tally.h"
#include "store/content_hash.h"
#include "wrappers/python/core/common/limited_api.h"
#include "wrappers/python/core/samples/api.h"

#define KEY_BYTES  16
#define PATH_BYTES 1024

static struct stk_store *store_of(PyObject *capsule)
{
    return PyCapsule_GetPointer(capsule, STK_SAMPLES_STORE);
}

/* Converters of arguments, for PyArg_ParseTuple(). They return 0 with an exception set. */
static int take_store(PyObject *capsule, void *store)
{
    *(struct stk_store **)store = store_of(capsule);
    return store_of(capsule) != NULL;
}

static int take_key(PyObject *object, void *key)
{
    HELD_BUFFER Py_buffer bytes = {0};
    if (PyObject_GetBuffer(object, &bytes, PyBUF_SIMPLE) != 0) {
        return 0;
    }
    bool fits = bytes.len == KEY_BYTES;
    if (fits) {
        memcpy(key, bytes.buf, KEY_BYTES);
    } else {
        PyErr_SetString(PyExc_ValueError, "a key has 16 bytes");
    }
    return fits;
}

/* place(setting): (directory, bytes) of STOKER_DECODED, -1 bytes without a size; ValueError. */
static PyObject *samples_place(PyObject *module, PyObject *arguments)
{
    HELD PyObject *setting = NULL;
    size_t length;
    int64_t bytes;
    if (!PyArg_ParseTuple(arguments, "O&", PyUnicode_FSConverter, &setting)) {
        return NULL;
    }
    const char *value = PyBytes_AsString(setting);
    if (stk_option_split_place(value, &length, &bytes)) {
        PyObject *directory = PyUnicode_DecodeFSDefaultAndSize(value, (Py_ssize_t)length);
        return Py_BuildValue("NL", directory, (long long)bytes);
    }
    return PyErr_Format(PyExc_ValueError, "'%s' is no size", value + length + 1);
}

/* open(directory, budget): the store, for as long as the process lives; OSError. */
static PyObject *samples_open(PyObject *module, PyObject *arguments)
{
    HELD PyObject *directory = NULL;
    unsigned long long budget;
    if (!PyArg_ParseTuple(arguments, "O&K", PyUnicode_FSConverter, &directory, &budget)) {
        return NULL;
    }
    struct stk_store *store = stk_store_open(PyBytes_AsString(directory), budget);
    return store != NULL
               ? PyCapsule_New(store, STK_SAMPLES_STORE, NULL)
               : PyErr_SetFromErrnoWithFilename(PyExc_OSError, PyBytes_AsString(directory));
}

/* join(store, run, setting): lets the store grow to what the command of that run grants to the
 * store of this setting. Returns whether the run has a tally. */
static PyObject *samples_join(PyObject *module, PyObject *arguments)
{
    PyObject *capsule;
    HELD PyObject *run = NULL, *setting = NULL;
    if (!PyArg_ParseTuple(arguments, "OO&O&", &capsule, PyUnicode_FSConverter, &run,
                          PyUnicode_FSConverter, &setting)) {
        return NULL;
    }
    char path[PATH_BYTES];
    struct stk_tally *tally = NULL;
    struct stk_store *store = store_of(capsule);
    if (store != NULL && stk_tally_path(path, sizeof path, PyBytes_AsString(run))) {
        tally = stk_tally_open(path);
    }
    if (tally != NULL) {
        stk_store_join(store, tally, PyBytes_AsString(setting));
    }
    return store != NULL ? PyBool_FromLong(tally != NULL) : NULL;
}

/* get(store, key): the value, a memoryview that may be kept; None where there is none. */
static PyObject *samples_get(PyObject *module, PyObject *arguments)
{
    struct stk_store *store;
    struct stk_hash128 key;
    struct stk_store_value value;
    if (!PyArg_ParseTuple(arguments, "O&O&", take_store, &store, take_key, &key)) {
        return NULL;
    }
    bool found;
    WITHOUT_GIL(found = stk_store_get(store, key, &value));
    return found ? PyMemoryView_FromMemory((char *)(uintptr_t)value.data, (Py_ssize_t)value.bytes,
                                           PyBUF_READ)
                 : Py_NewRef(Py_None);
}

/* put(store, key, data): whether it is kept. */
static PyObject *samples_put(PyObject *module, PyObject *arguments)
{
    struct stk_store *store;
    struct stk_hash128 key;
    HELD_BUFFER Py_buffer data = {0};
    if (!PyArg_ParseTuple(arguments, "O&O&y*", take_store, &store, take_key, &key, &data)) {
        return NULL;
    }
    bool kept;
    WITHOUT_GIL(kept = stk_store_put(store, key, data.buf, (size_t)data.len));
    return PyBool_FromLong(kept);
}

/* void(store, key): makes a wrong value void, so that no call finds it. Returns true if it was
 * done. */
static PyObject *samples_void(PyObject *module, PyObject *arguments)
{
    struct stk_store *store;
    struct stk_hash128 key;
    if (!PyArg_ParseTuple(arguments, "O&O&", take_store, &store, take_key, &key)) {
        return NULL;
    }
    return PyBool_FromLong(stk_store_void(store, key));
}

/* flush(store): whether nothing is left that waits to be written. */
static PyObject *samples_flush(PyObject *module, PyObject *capsule)
{
    struct stk_store *store = store_of(capsule);
    bool done;
    if (store == NULL) {
        return NULL;
    }
    WITHOUT_GIL(done = stk_store_flush(store));
    return PyBool_FromLong(done);
}

/* counts(store): (gets, hits, puts, bytes, refused, damaged, used) */
static PyObject *samples_counts(PyObject *module, PyObject *capsule)
{
    struct stk_store *store = store_of(capsule);
    struct stk_store_counts counts;
    if (store == NULL) {
        return NULL;
    }
    stk_store_read_counts(store, &counts);
    return Py_BuildValue("KKKKKKK", counts.gets, counts.hits, counts.puts, counts.bytes,
                         counts.refused, counts.damaged, stk_store_used_bytes(store));
}

/* key(data, seed = 0): the 16 bytes that stand for it. */
static PyObject *samples_key(PyObject *module, PyObject *arguments)
{
    HELD_BUFFER Py_buffer data = {0};
    unsigned long long seed = 0;
    if (!PyArg_ParseTuple(arguments, "y*|K", &data, &seed)) {
        return NULL;
    }
    struct stk_hash128 key = stk_content_hash_128(data.buf, (size_t)data.len, seed);
    return PyBytes_FromStringAndSize((const char *)&key, KEY_BYTES);
}

static PyMethodDef methods[] = {
    {"place", samples_place, METH_VARARGS, NULL}, {"open", samples_open, METH_VARARGS, NULL},
    {"join", samples_join, METH_VARARGS, NULL},   {"get", samples_get, METH_VARARGS, NULL},
    {"put", samples_put, METH_VARARGS, NULL},     {"flush", samples_flush, METH_O, NULL},
    {"counts", samples_counts, METH_O, NULL},     {"key", samples_key, METH_VARARGS, NULL},
    {"void", samples_void, METH_VARARGS, NULL},   {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "stoker._samples_core", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

static const struct stk_samples_api api = {
    .version = STK_SAMPLES_API_VERSION,
    .key = stk_content_hash_128,
    .get = stk_store_get,
    .put = stk_store_put,
    .link = stk_store_link,
    .follow = stk_store_follow,
    .admits = stk_store_admits,
};

PyMODINIT_FUNC PyInit__samples_core(void);
PyMODINIT_FUNC PyInit__samples_core(void)
{
    PyObject *module = PyModule_Create(&definition);
    HELD PyObject *capsule = PyCapsule_New((void *)(uintptr_t)&api, STK_SAMPLES_API, NULL);
    if (module == NULL || capsule == NULL || PyModule_AddObjectRef(module, "api", capsule) != 0) {
        Py_CLEAR(module);
    }
    return module;
}
