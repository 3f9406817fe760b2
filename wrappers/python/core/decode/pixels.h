/* Decoding and transforming for Python, without the sample store. */
#pragma once

#include "decode/decode.h"
#include "wrappers/python/core/common/limited_api.h"

/* Makes the tuple that examine() returns: (width, height, components, color, precision,
 * progressive, arithmetic, multiscan, end, sound), which are struct stk_jpeg_info's. Sound: the
 * tables that the only scan needs are there. */
PyObject *examined(const struct stk_jpeg_info *info, int sound);
/* Fills an image from the tuple (width, height, channels) and its rows without gaps. Returns 0, or
 * -1 with an exception set. The caller holds the buffer for as long as it uses the image. */
int take_image(struct stk_image *image, PyObject *shape, const Py_buffer *in);
