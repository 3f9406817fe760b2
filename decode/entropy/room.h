/* Memory for one purpose: it grows and stays, its contents do not survive a growth. */
#ifndef STK_DECODE_ENTROPY_ROOM_H
#define STK_DECODE_ENTROPY_ROOM_H

#include <stddef.h>
#include <stdlib.h>

struct stk_room {
    void *data;
    size_t bytes;
};

/* NULL: no memory. */
static inline void *stk_room_get(struct stk_room *room, size_t bytes)
{
    if (room->bytes < bytes) {
        free(room->data);
        room->data = malloc(bytes);
        room->bytes = room->data ? bytes : 0;
    }
    return room->data;
}

/* Gives it back if it takes more bytes than `but`. */
static inline void stk_room_free(struct stk_room *room, size_t but)
{
    if (room->bytes > but) {
        free(room->data);
        *room = (struct stk_room){0};
    }
}

#endif
