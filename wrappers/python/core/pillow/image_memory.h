/*
 * The images that Pillow keeps in memory.
 *
 * The layout of Pillow's image is private and differs between versions. So it is used only if all
 * of it agrees with what the caller knows; else Pillow does the work.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wrappers/python/core/common/limited_api.h"

struct image_memory {
    uint32_t bands, width, height; /* what the caller knows */
    const void *const *rows;
};

/* Finds the rows of a core image. Returns false, without an exception, if the image is not as the
 * caller knows it. The rows stay where they are while the caller holds the core image. */
bool find_rows(struct image_memory *memory, PyObject *core);
