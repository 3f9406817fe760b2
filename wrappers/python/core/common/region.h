/*
 * Memory that batches lie in, mapped as a whole: a worker's slot, or a buffer of a Feed's. A device
 * finds it by an address in it, locks it, and has itself called before it is unmapped. The memory's
 * owner has the struct, which is zeros at first. The GIL must be held.
 */
#pragma once

#include <stddef.h>

#include "wrappers/python/core/common/limited_api.h"

struct region {
    unsigned char *address; /* NULL: there is none */
    size_t bytes;
    void *slot;     /* the slot that it is, or NULL */
    PyObject *ends; /* a list of the functions that are called before it is unmapped, or NULL */
    struct region *next;
};

/* Makes the region known. */
void region_begin(struct region *region, void *address, size_t bytes);
/* Returns the region that an address lies in, or NULL. */
struct region *region_find(const void *address);
/* Calls all functions in their order, once. The region is not known any more; call this before it
 * is unmapped. An exception of theirs is dropped, since the call may come at the end of any object.
 * An exception that is set before the call stays set. */
void region_end(struct region *region);
