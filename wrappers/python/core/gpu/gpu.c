/*
 * stoker._gpu_core: plans and devices (gpu/) for Python. A module of its own, since the kernel for
 * devices is part of it. Addresses are ints: of the host, or of a device where one is opened.
 */
#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030b0000
#endif
#include <Python.h>

#include <string.h>

#include "gpu/gpu.h"

#define PLAN   "stoker._gpu_core.plan"
#define DEVICE "stoker._gpu_core.device"

static PyObject *no_device; /* the exception */

static PyObject *refuse(const char *refusal)
{
    PyErr_SetString(PyExc_ValueError, refusal);
    return NULL;
}

static PyObject *raise_why(const struct stk_gpu_why *why)
{
    PyObject *type = why->error == STK_GPU_NONE       ? no_device
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

/* plan(type, layout, channels, width, height, mean, std, fill): each of the last three a tuple of
 * three, of which so many count as there are channels; ValueError. */
static PyObject *gpu_plan(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *capsule;
    struct stk_gpu_plan *plan = new_plan(&capsule);
    if (plan == NULL) {
        return NULL;
    }
    int type, layout;
    if (!PyArg_ParseTuple(arguments, "iiIII(fff)(fff)(bbb)", &type, &layout, &plan->channels,
                          &plan->width, &plan->height, &plan->mean[0], &plan->mean[1],
                          &plan->mean[2], &plan->std[0], &plan->std[1], &plan->std[2],
                          &plan->fill[0], &plan->fill[1], &plan->fill[2])) {
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

/* What is the same here and on a device: images, as `struct stk_gpu_image` one behind the other,
 * the memory that they must lie in, and what comes out. */
struct batch {
    const struct stk_gpu_plan *plan;
    Py_buffer images;
    unsigned long long begin, bytes, out, out_bytes;
};

static size_t count_images(const struct batch *batch)
{
    return (size_t)batch->images.len / sizeof(struct stk_gpu_image);
}

static const char *refuse_batch(const struct batch *batch)
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

/* Takes them out of (plan, images, begin, bytes, out, out bytes). 0, or -1 with an exception set
 * and nothing held. */
static int take_batch(struct batch *batch, PyObject *given)
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
    if (batch->plan == NULL || refusal != NULL) {
        PyBuffer_Release(&batch->images);
        return -1;
    }
    return 0;
}

/* run(batch, first, last): does it here, for these of its images. */
static PyObject *gpu_run(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *given;
    Py_ssize_t first, last;
    struct batch batch;
    if (!PyArg_ParseTuple(arguments, "Onn", &given, &first, &last) ||
        take_batch(&batch, given) != 0) {
        return NULL;
    }
    if (first < 0 || last > (Py_ssize_t)count_images(&batch)) {
        PyBuffer_Release(&batch.images);
        return refuse("there are not as many images");
    }
    Py_BEGIN_ALLOW_THREADS;
    stk_gpu_plan_run(batch.plan, batch.images.buf, (size_t)first, (size_t)last,
                     (void *)(uintptr_t)batch.out);
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&batch.images);
    Py_RETURN_NONE;
}

/* ---- devices ---- */

static void close_device(PyObject *capsule)
{
    stk_gpu_close(PyCapsule_GetPointer(capsule, DEVICE));
}

/* open(ordinal): the device, as long as it is there; NoDevice, with the reason. */
static PyObject *gpu_open(PyObject *module, PyObject *ordinal)
{
    (void)module;
    struct stk_gpu *gpu;
    struct stk_gpu_why why = {0};
    int error, number = (int)PyLong_AsLong(ordinal);
    if (PyErr_Occurred() != NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    error = stk_gpu_open(&gpu, number, &why);
    Py_END_ALLOW_THREADS;
    if (error != STK_GPU_OK) {
        return raise_why(&why);
    }
    PyObject *capsule = PyCapsule_New(gpu, DEVICE, close_device);
    if (capsule == NULL) {
        stk_gpu_close(gpu);
    }
    return capsule;
}

/* name(device). */
static PyObject *gpu_name(PyObject *module, PyObject *device)
{
    (void)module;
    const struct stk_gpu *gpu = PyCapsule_GetPointer(device, DEVICE);
    return gpu == NULL ? NULL : PyUnicode_FromString(stk_gpu_name(gpu));
}

/* resident(device, batch, stream): does it on the device, where the images lie, after what was
 * begun on the stream and before what is begun on it from now on. The GIL keeps threads apart. */
static PyObject *gpu_resident(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *device, *given;
    unsigned long long stream;
    struct batch batch;
    if (!PyArg_ParseTuple(arguments, "OOK", &device, &given, &stream) ||
        take_batch(&batch, given) != 0) {
        return NULL;
    }
    struct stk_gpu *gpu = PyCapsule_GetPointer(device, DEVICE);
    struct stk_gpu_why why = {0};
    uint64_t number;
    void *own = (void *)(uintptr_t)stream;
    const struct stk_gpu_batch sent = {.plan = batch.plan,
                                       .images = batch.images.buf,
                                       .count = count_images(&batch),
                                       .out = batch.out,
                                       .stream = own};
    int error = gpu == NULL ? -1 : stk_gpu_send(gpu, &sent, &number, &why);
    error = error != STK_GPU_OK ? error : stk_gpu_follow(gpu, number, own, &why);
    PyBuffer_Release(&batch.images);
    if (gpu == NULL) {
        return NULL;
    }
    return error == STK_GPU_OK ? Py_NewRef(Py_None) : raise_why(&why);
}

static PyMethodDef methods[] = {
    {"plan", gpu_plan, METH_VARARGS, NULL},
    {"run", gpu_run, METH_VARARGS, NULL},
    {"open", gpu_open, METH_O, NULL},
    {"name", gpu_name, METH_O, NULL},
    {"resident", gpu_resident, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "stoker._gpu_core", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__gpu_core(void);
PyMODINIT_FUNC PyInit__gpu_core(void)
{
    PyObject *module = PyModule_Create(&definition);
    no_device = PyErr_NewException("stoker._gpu_core.NoDevice", PyExc_RuntimeError, NULL);
    if (module == NULL || no_device == NULL ||
        PyModule_AddObjectRef(module, "NoDevice", no_device) != 0) {
        Py_CLEAR(module);
    }
    return module;
}
