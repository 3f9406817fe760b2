/* Decoding and transforming for Python, without the sample store. */
#ifndef STK_PYTHON_DECODE_PIXELS_H
#define STK_PYTHON_DECODE_PIXELS_H

#include "decode/decode.h"
#include "wrappers/python/core/common/limited_api.h"

/* Makes the tuple that probe() returns: see _core.pyi. */
PyObject *probed(const struct stk_jpeg_info *info, int sound);

/* Functions of the module: see _core.pyi. */
PyObject *core_probe(PyObject *module, PyObject *bytes);
PyObject *core_frame(PyObject *module, PyObject *bytes);
PyObject *core_decode(PyObject *module, PyObject *arguments);
PyObject *core_transform(PyObject *module, PyObject *arguments);
PyObject *core_table(PyObject *module, PyObject *arguments);
PyObject *core_simd(PyObject *module, PyObject *unused);

#endif
