/* Memory for one purpose. It grows and stays; its contents do not survive a growth. */
#pragma once

#include <stddef.h>
#include <stdlib.h>

struct stk_room {
    void *data;
    size_t bytes;
};

/* Returns at least so many bytes, or NULL if there is no memory. */
static inline void *stk_room_get(struct stk_room *room, size_t bytes)
{
    if (room->bytes < bytes) {
        free(room->data);
        room->data = malloc(bytes);
        room->bytes = room->data ? bytes : 0;
    }
    return room->data;
}

/* Frees the memory if it is more than `but` bytes. */
static inline void stk_room_free(struct stk_room *room, size_t but)
{
    if (room->bytes > but) {
        free(room->data);
        *room = (struct stk_room){0};
    }
}
