/*
 * An item: one image of a batch, from its path to its pixels, in two steps that need no Python.
 * Between them Python looks at the image's size, draws its random numbers and makes the plan.
 *
 * Files are read by libc's own open and read, so that the preload serves them from the cache; where
 * the sample store has a file's form, that is decoded, and the file is not read.
 */
#ifndef STK_PYTHON_FEED_ITEM_H
#define STK_PYTHON_FEED_ITEM_H

#include "wrappers/python/core/feed/crew.h"
#include "wrappers/python/core/kept.h"

#define ITEM_LARGEST_BYTES ((size_t)256 << 20) /* of a file; larger ones are Pillow's */
#define ITEM_COMPONENTS    3

enum item_found {
    ITEM_NOTHING, /* it cannot be read, is no plain file, or no JPEG whose header can be read */
    ITEM_BYTES,
    ITEM_FORM,
};

/* Memory for a batch's files, of which each takes a piece as it is read; its owner empties it by
 * setting `taken` to 0. */
struct space {
    uint8_t *data;
    size_t bytes;
    _Atomic size_t taken; /* what was wanted of it: more than there is if it was too little */
};

struct item {
    struct crew_task task;
    const char *path;     /* the caller's */
    struct space *space;  /* the caller's */
    bool is_bytes_wanted; /* the file's own: a form is of no use */

    /* What item_read() found. */
    enum item_found found;
    struct stk_jpeg_info info;
    bool sound;                        /* the tables that the only scan needs are there */
    uint8_t sampling[ITEM_COMPONENTS]; /* horizontal and vertical factor, four bits each */
    size_t size;                       /* of the file */
    struct stk_store_value form;       /* ITEM_FORM */
    struct stk_hash128 link;           /* what stands for the file, if has_link */
    bool has_link;
    uint8_t *bytes; /* ITEM_BYTES: the file's, in the space or `own` */
    size_t room;
    uint8_t *own; /* what the space had no room for, until the next one is read */

    /* What item_decode() does, if it is to do anything, and how it went: STK_DECODE_... */
    bool is_wanted;
    bool is_drawn; /* the plan was made by steps.h, but for how it ends */
    struct stk_plan plan;
    struct stk_target target;
    int status;
};

/* Zeros are an item without a file. Each works on a `struct item` that nobody else looks at. */
void item_read(struct crew_task *task);
void item_decode(struct crew_task *task);
/* Gives its memory back; it is an item without a file again. */
void item_clear(struct item *item);

#endif
