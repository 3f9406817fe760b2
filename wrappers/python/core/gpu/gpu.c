/*
 * stoker._gpu_core: plans and devices (gpu/) for Python. A module of its own, since the kernel for
 * devices is part of it. Addresses are ints: of the host, or of a device where one is opened.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/gpu.h"
#include "wrappers/python/core/common/limited_api.h"

/* The names of capsules. */
#define PLAN   "stoker._gpu_core.plan"
#define DEVICE "stoker._gpu_core.device"

static PyObject *no_device, *failed; /* exceptions */

static PyObject *refuse(const char *refusal)
{
    PyErr_SetString(PyExc_ValueError, refusal);
    return NULL;
}

/* Sets the exception for an error. Returns NULL. */
static PyObject *raise_why(const struct stk_gpu_why *why)
{
    PyObject *type = why->error == STK_GPU_NONE       ? no_device
                     : why->error == STK_GPU_FAILED   ? failed
                     : why->error == STK_GPU_MEMORY   ? PyExc_MemoryError
                     : why->error == STK_GPU_ARGUMENT ? PyExc_ValueError
                                                      : PyExc_RuntimeError;
    PyErr_SetString(type, why->text);
    return NULL;
}

/* ---- plans ---- */

static void free_plan(PyObject *capsule)
{
    PyMem_Free(PyCapsule_GetPointer(capsule, PLAN));
}

static struct stk_gpu_plan *new_plan(PyObject **capsule)
{
    struct stk_gpu_plan *plan = PyMem_Calloc(1, sizeof *plan);
    *capsule = plan == NULL ? PyErr_NoMemory() : PyCapsule_New(plan, PLAN, free_plan);
    if (*capsule == NULL) {
        PyMem_Free(plan);
    }
    return *capsule == NULL ? NULL : plan;
}

/* plan(type, layout, channels, width, height, mean, std, fill, planes=1): mean, std and fill are
 * tuples of three, of which so many count as there are channels; ValueError. */
static PyObject *gpu_plan(PyObject *module, PyObject *arguments)
{
    PyObject *capsule;
    struct stk_gpu_plan *plan = new_plan(&capsule);
    if (plan == NULL) {
        return NULL;
    }
    int type, layout;
    if (!PyArg_ParseTuple(arguments, "iiIII(fff)(fff)(bbb)|I", &type, &layout, &plan->channels,
                          &plan->width, &plan->height, &plan->mean[0], &plan->mean[1],
                          &plan->mean[2], &plan->std[0], &plan->std[1], &plan->std[2],
                          &plan->fill[0], &plan->fill[1], &plan->fill[2], &plan->planes)) {
        Py_DECREF(capsule);
        return NULL;
    }
    plan->type = (enum stk_gpu_type)type;
    plan->layout = (enum stk_gpu_layout)layout;
    const char *refusal = stk_gpu_plan_finish(plan);
    if (refusal != NULL) {
        Py_DECREF(capsule);
        return refuse(refusal);
    }
    return capsule;
}

/* ---- batches ---- */

/* A batch, here and on a device: images, as `struct stk_gpu_image` one behind the other, the memory
 * that they must lie in, and the result. HELD_BATCH releases the images' buffer at the end of the
 * block; zeros hold none. */
#define HELD_BATCH __attribute__((cleanup(release_batch)))
struct gpu_batch {
    const struct stk_gpu_plan *plan;
    Py_buffer images;
    unsigned long long begin, bytes, out, out_bytes;
};

static void release_batch(struct gpu_batch *batch)
{
    PyBuffer_Release(&batch->images);
}

static size_t count_images(const struct gpu_batch *batch)
{
    return (size_t)batch->images.len / sizeof(struct stk_gpu_image);
}

static const char *refuse_batch(const struct gpu_batch *batch)
{
    const struct stk_gpu_image *images = batch->images.buf;
    size_t count = count_images(batch);
    const char *refusal = stk_gpu_plan_refuse(batch->plan, images, count);
    if (refusal == NULL) {
        refusal = stk_gpu_plan_refuse_outside(batch->plan, images, count, batch->begin,
                                              (size_t)batch->bytes);
    }
    if (refusal == NULL &&
        (batch->out_bytes != stk_gpu_plan_bytes(batch->plan, count) || batch->out % 4 != 0)) {
        refusal = "what comes out has another size, or is not aligned";
    }
    return refusal;
}

/* Takes a batch out of the arguments (plan, images, begin, bytes, out, out bytes), and holds the
 * images' buffer. Returns 0, or -1 with an exception set. */
static int take_batch(struct gpu_batch *batch, PyObject *given)
{
    PyObject *plan;
    if (!PyArg_ParseTuple(given, "Oy*KKKK", &plan, &batch->images, &batch->begin, &batch->bytes,
                          &batch->out, &batch->out_bytes)) {
        return -1;
    }
    batch->plan = PyCapsule_GetPointer(plan, PLAN);
    const char *refusal = batch->plan == NULL ? NULL : refuse_batch(batch);
    if (refusal != NULL) {
        refuse(refusal);
    }
    return batch->plan == NULL || refusal != NULL ? -1 : 0;
}

/* run(batch, first, last): does it here, for these of its images. */
static PyObject *gpu_run(PyObject *module, PyObject *arguments)
{
    PyObject *given;
    Py_ssize_t first, last;
    HELD_BATCH struct gpu_batch batch = {0};
    if (!PyArg_ParseTuple(arguments, "Onn", &given, &first, &last) ||
        take_batch(&batch, given) != 0) {
        return NULL;
    }
    if (first < 0 || last > (Py_ssize_t)count_images(&batch)) {
        return refuse("there are not as many images");
    }
    WITHOUT_GIL(stk_gpu_plan_run(batch.plan, batch.images.buf, (size_t)first, (size_t)last,
                                 (void *)(uintptr_t)batch.out));
    Py_RETURN_NONE;
}

/* ---- devices ---- */

/* Calls may wait, so they release the GIL, and the lock lets one run at a time. In a child of fork
 * all calls are refused and the lock is not taken, since a thread of the parent may have held it. A
 * call may let go of Python objects, whose code may call again: `ended` keeps them until the call
 * is over. */
struct device {
    struct stk_gpu *gpu;
    pthread_mutex_t lock;
    pid_t owner;
    PyObject *ended[STK_GPU_LANES];
    unsigned count;
};

/* Returns the device of a capsule, or NULL with an exception set. */
static struct device *device_of(PyObject *capsule)
{
    return PyCapsule_GetPointer(capsule, DEVICE);
}

/* Converts a device for PyArg_ParseTuple. */
static int take_device(PyObject *capsule, void *out)
{
    struct device *device = device_of(capsule);
    memcpy(out, &device, sizeof device);
    return device != NULL;
}

/* The object that keeps a batch's memory, and the device that lets go of it. */
struct holder {
    struct device *device;
    PyObject *object;
};

static void let_go(void *argument)
{
    struct holder *holder = argument;
    holder->device->ended[holder->device->count++] = holder->object;
    free(holder);
}

/* Takes what has ended out of the device, whose lock is held. */
static unsigned take_ended(struct device *device, PyObject **ended)
{
    unsigned count = device->count;
    for (unsigned i = 0; i < count; i++) {
        ended[i] = device->ended[i];
    }
    device->count = 0;
    return count;
}

static void drop_ended(PyObject **ended, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        Py_DECREF(ended[i]);
    }
}

/* Makes one call: does `what` with the device's lock and without the GIL, and sets `result`. */
#define CALL_DEVICE(device, result, what)                                                          \
    do {                                                                                           \
        PyObject *ended[STK_GPU_LANES];                                                            \
        unsigned gone;                                                                             \
        bool is_own = (device)->owner == getpid();                                                 \
        Py_BEGIN_ALLOW_THREADS;                                                                    \
        if (is_own) {                                                                              \
            pthread_mutex_lock(&(device)->lock);                                                   \
        }                                                                                          \
        (result) = (what);                                                                         \
        gone = take_ended(device, ended);                                                          \
        if (is_own) {                                                                              \
            pthread_mutex_unlock(&(device)->lock);                                                 \
        }                                                                                          \
        Py_END_ALLOW_THREADS;                                                                      \
        drop_ended(ended, gone);                                                                   \
    } while (0)

static PyObject *none_or_raise(int error, const struct stk_gpu_why *why)
{
    return error < 0 ? raise_why(why) : Py_NewRef(Py_None);
}

static void close_device(PyObject *capsule)
{
    struct device *device = device_of(capsule);
    PyObject *ended[STK_GPU_LANES];
    stk_gpu_close(device->gpu);
    unsigned count = take_ended(device, ended);
    pthread_mutex_destroy(&device->lock);
    PyMem_Free(device);
    drop_ended(ended, count);
}

/* open(ordinal): the device, as long as it is there; NoDevice, with the reason. */
static PyObject *gpu_open(PyObject *module, PyObject *ordinal)
{
    int error, number = (int)PyLong_AsLong(ordinal);
    struct stk_gpu_why why = {0};
    struct device *device = PyErr_Occurred() != NULL ? NULL : PyMem_Calloc(1, sizeof *device);
    if (device == NULL) {
        return PyErr_Occurred() != NULL ? NULL : PyErr_NoMemory();
    }
    pthread_mutex_init(&device->lock, NULL);
    device->owner = getpid();
    WITHOUT_GIL(error = stk_gpu_open(&device->gpu, number, &why));
    PyObject *capsule = error < 0 ? raise_why(&why) : PyCapsule_New(device, DEVICE, close_device);
    if (capsule == NULL) {
        stk_gpu_close(device->gpu);
        PyMem_Free(device);
    }
    return capsule;
}

/* name(device). */
static PyObject *gpu_name(PyObject *module, PyObject *capsule)
{
    const struct device *device = device_of(capsule);
    return device == NULL ? NULL : PyUnicode_FromString(stk_gpu_name(device->gpu));
}

/* ---- batches on their way ---- */

/* Sends a batch. `object` is held until the copy has ended, and not at all if the call fails. */
static int send(struct device *device, const struct gpu_batch *batch, PyObject *object,
                void *stream, uint64_t *number, struct stk_gpu_why *why)
{
    bool is_here = object != NULL;
    struct holder *holder = is_here ? malloc(sizeof *holder) : NULL;
    if (is_here && holder == NULL) {
        return stk_gpu_why_say(why, STK_GPU_MEMORY, "no memory");
    }
    const struct stk_gpu_batch sent = {
        .plan = batch->plan,
        .images = batch->images.buf,
        .count = count_images(batch),
        .memory = is_here ? (const void *)(uintptr_t)batch->begin : NULL,
        .bytes = (size_t)batch->bytes,
        .out = batch->out,
        .stream = stream,
        .holder = holder,
        .let_go = is_here ? let_go : NULL,
    };
    if (is_here) {
        *holder = (struct holder){device, object};
    }
    int error = stk_gpu_send(device->gpu, &sent, number, why);
    if (error < 0) {
        free(holder);
    }
    return error;
}

/* Converts a stream for PyArg_ParseTuple: an int, or None for no stream. */
static int take_stream(PyObject *object, void *out)
{
    void *stream = object == Py_None ? STK_GPU_NO_STREAM : PyLong_AsVoidPtr(object);
    memcpy(out, &stream, sizeof stream);
    return PyErr_Occurred() == NULL;
}

static PyObject *send_batch(struct device *device, PyObject *given, PyObject *holder, void *stream)
{
    HELD_BATCH struct gpu_batch batch = {0};
    struct stk_gpu_why why = {0};
    uint64_t number = 0;
    int error;
    if (take_batch(&batch, given) != 0) {
        return NULL;
    }
    Py_XINCREF(holder);
    CALL_DEVICE(device, error, send(device, &batch, holder, stream, &number, &why));
    if (error < 0) {
        Py_XDECREF(holder);
        return raise_why(&why);
    }
    return PyLong_FromUnsignedLongLong(number);
}

/* send(device, batch, holder, stream): the batch's number. Its memory is this process's, and stays
 * as it is as long as the holder is there, which is let go of when it is copied. */
static PyObject *gpu_send(PyObject *module, PyObject *arguments)
{
    struct device *device;
    PyObject *given, *holder;
    void *stream;
    return PyArg_ParseTuple(arguments, "O&OOO&", take_device, &device, &given, &holder, take_stream,
                            &stream)
               ? send_batch(device, given, holder, stream)
               : NULL;
}

/* resident(device, batch, stream): the same for images that lie on the device. */
static PyObject *gpu_resident(PyObject *module, PyObject *arguments)
{
    struct device *device;
    PyObject *given;
    void *stream;
    return PyArg_ParseTuple(arguments, "O&OO&", take_device, &device, &given, take_stream, &stream)
               ? send_batch(device, given, NULL, stream)
               : NULL;
}

/* collect(device): lets go of what has been copied; how many are still held. */
static PyObject *gpu_collect(PyObject *module, PyObject *capsule)
{
    struct device *device = device_of(capsule);
    struct stk_gpu_why why = {0};
    int held;
    if (device == NULL) {
        return NULL;
    }
    CALL_DEVICE(device, held, stk_gpu_collect(device->gpu, &why));
    return held < 0 ? raise_why(&why) : PyLong_FromLong(held);
}

/* Defines a function of a device that returns nothing, but raises the reason of a failure. The
 * arguments behind the device are parsed by `format` into the pointers behind the call. */
#define DEVICE_FUNCTION(name, format, call, ...)                                                   \
    static PyObject *name(PyObject *module, PyObject *arguments)                                   \
    {                                                                                              \
        struct device *device;                                                                     \
        struct {                                                                                   \
            unsigned long long number, address, bytes;                                             \
            void *stream;                                                                          \
        } got;                                                                                     \
        struct stk_gpu_why why = {0};                                                              \
        int error;                                                                                 \
        if (!PyArg_ParseTuple(arguments, "O&" format, take_device, &device, __VA_ARGS__)) {        \
            return NULL;                                                                           \
        }                                                                                          \
        CALL_DEVICE(device, error, call);                                                          \
        return none_or_raise(error, &why);                                                         \
    }

/* follow(device, number, stream): what is begun on the stream from now on waits for the batch. */
DEVICE_FUNCTION(gpu_follow, "KO&", stk_gpu_follow(device->gpu, got.number, got.stream, &why),
                &got.number, take_stream, &got.stream)
/* wait(device, number): until the batch is out. */
DEVICE_FUNCTION(gpu_wait, "K", stk_gpu_wait(device->gpu, got.number, &why), &got.number)

/* ---- memory ---- */

/* pin(device, address, bytes): locks memory of this process; MemoryError, with the limit. */
DEVICE_FUNCTION(gpu_pin, "KK",
                stk_gpu_pin(device->gpu, (void *)(uintptr_t)got.address, (size_t)got.bytes, &why),
                &got.address, &got.bytes)
/* unpin(device, address): before it is unmapped. */
DEVICE_FUNCTION(gpu_unpin, "K", stk_gpu_unpin(device->gpu, (void *)(uintptr_t)got.address, &why),
                &got.address)

static PyMethodDef methods[] = {
    {"plan", gpu_plan, METH_VARARGS, NULL},   {"run", gpu_run, METH_VARARGS, NULL},
    {"open", gpu_open, METH_O, NULL},         {"name", gpu_name, METH_O, NULL},
    {"send", gpu_send, METH_VARARGS, NULL},   {"resident", gpu_resident, METH_VARARGS, NULL},
    {"collect", gpu_collect, METH_O, NULL},   {"follow", gpu_follow, METH_VARARGS, NULL},
    {"wait", gpu_wait, METH_VARARGS, NULL},   {"pin", gpu_pin, METH_VARARGS, NULL},
    {"unpin", gpu_unpin, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "stoker._gpu_core", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__gpu_core(void);
PyMODINIT_FUNC PyInit__gpu_core(void)
{
    PyObject *module = PyModule_Create(&definition);
    no_device = PyErr_NewException("stoker._gpu_core.NoDevice", PyExc_RuntimeError, NULL);
    failed = PyErr_NewException("stoker._gpu_core.Failed", PyExc_RuntimeError, NULL);
    if (module == NULL || no_device == NULL || failed == NULL ||
        PyModule_AddObjectRef(module, "NoDevice", no_device) != 0 ||
        PyModule_AddObjectRef(module, "Failed", failed) != 0) {
        Py_CLEAR(module);
    }
    return module;
}
