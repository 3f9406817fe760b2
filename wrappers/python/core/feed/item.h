/*
 * An item: one image of a batch, from its path to its pixels, in two steps without Python. Between
 * them the image's size is known, its random numbers are drawn and its plan is made.
 *
 * Files are read by libc's own open and read, so that the preload serves them from the cache. If
 * the sample store has a file's form, the form is decoded and the file is not read.
 */
#pragma once

#include "wrappers/python/core/feed/thread_pool.h"
#include "wrappers/python/core/decode/stored_decode.h"

#define ITEM_LARGEST_BYTES ((size_t)256 << 20) /* of a file; Pillow reads larger ones */
#define ITEM_COMPONENTS    3

enum item_found {
    ITEM_NOTHING, /* it cannot be read, is no regular file, or no JPEG with a readable header */
    ITEM_BYTES,
    ITEM_FORM,
};

/* Memory for a batch's files. Each file takes a piece of it when it is read. The owner empties it
 * by setting `taken` to 0. */
struct space {
    uint8_t *data;
    size_t bytes;
    _Atomic size_t taken; /* bytes that were requested: more than `bytes` if they were too few */
};

struct item {
    struct pool_task task;
    const char *path;    /* the caller's */
    struct space *space; /* the caller's */

    /* The result of item_read(). */
    enum item_found found;
    struct stk_jpeg_info info;
    bool sound;                        /* the tables of the only scan are there and sound */
    uint8_t sampling[ITEM_COMPONENTS]; /* horizontal and vertical factor, four bits each */
    size_t size;                       /* of the file */
    struct stk_store_value form;       /* ITEM_FORM */
    struct stk_hash128 link;           /* the file's identity, if has_link */
    bool has_link;
    uint8_t *bytes; /* ITEM_BYTES: the file's, in the space or `own` */
    size_t room;
    uint8_t *own; /* memory for a file that the space had no room for, until the next one is read */

    /* The request to item_decode(), and its result: STK_DECODE_... */
    bool is_wanted;
    bool is_drawn; /* steps.h made the plan, except for its layout and type */
    struct stk_plan plan;
    struct stk_target target;
    int status;
};

/* Tasks of the pool. Each works on a `struct item` that no other thread uses. Zeros are an item
 * without a file. */
void item_read(struct pool_task *task);
void item_decode(struct pool_task *task);
/* Frees the item's memory. It is an item without a file again. */
void item_clear(struct item *item);
