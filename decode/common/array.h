/* Memory for one purpose, aligned to 64 bytes. It grows and stays; its contents do not survive a
 * growth. */
#pragma once

#include <stddef.h>
#include <stdlib.h>

struct stk_array {
    void *data;
    size_t bytes;
};

/* Returns at least so many bytes, or NULL if there is no memory. */
static inline void *stk_array_get(struct stk_array *array, size_t bytes)
{
    if (array->bytes < bytes) {
        bytes = (bytes + 63) & ~(size_t)63;
        free(array->data);
        array->data = aligned_alloc(64, bytes);
        array->bytes = array->data ? bytes : 0;
    }
    return array->data;
}

/* Frees the memory if it is more than `but` bytes. */
static inline void stk_array_free(struct stk_array *array, size_t but)
{
    if (array->bytes > but) {
        free(array->data);
        *array = (struct stk_array){0};
    }
}
