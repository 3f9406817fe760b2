/* An open device as Python has it, and how the files of stoker._gpu_core call it. */
#ifndef STK_PYTHON_GPU_GPU_MODULE_H
#define STK_PYTHON_GPU_GPU_MODULE_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030b0000
#endif
#include <Python.h>

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "gpu/gpu.h"

#define DEVICE "stoker._gpu_core.device" /* of a capsule */

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
struct device *gpu_device_of(PyObject *capsule);

/* Sets the exception for an error. Returns NULL. */
PyObject *gpu_raise(const struct stk_gpu_why *why);

/* Converts a stream for PyArg_ParseTuple: an int, or None for no stream. */
int gpu_take_stream(PyObject *object, void *out);

/* For CALL_DEVICE. */
unsigned gpu_take_ended(struct device *device, PyObject **ended);
void gpu_drop_ended(PyObject **ended, unsigned count);

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
        gone = gpu_take_ended(device, ended);                                                      \
        if (is_own) {                                                                              \
            pthread_mutex_unlock(&(device)->lock);                                                 \
        }                                                                                          \
        Py_END_ALLOW_THREADS;                                                                      \
        gpu_drop_ended(ended, gone);                                                               \
    } while (0)

/* Methods of the module: jpegs.c. */
PyObject *gpu_jpegs(PyObject *module, PyObject *arguments);
PyObject *gpu_jpegs_name(PyObject *module, PyObject *capsule);
PyObject *gpu_jpegs_decode(PyObject *module, PyObject *arguments);

#endif
