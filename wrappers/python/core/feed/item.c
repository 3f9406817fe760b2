#include "wrappers/python/core/feed/item.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sys.h"
#include "wrappers/python/core/common/counts.h"
#include "wrappers/python/core/decode/thread_decoder.h"
#include "wrappers/python/core/decode/file_identity.h"
#include "wrappers/python/core/decode/tables.h"

#define LINE_BYTES 64 /* of the cache: no two files share one */

/* Adds to the run's time spent on batches, as the fetch of a worker does. */
static void count_time(int64_t began_ns)
{
    count_more(STK_TALLY_FETCH_NS, (uint64_t)(stk_sys_clock_ns(CLOCK_MONOTONIC) - began_ns));
}

/* ---- what a header says besides ---- */

static bool is_frame(uint8_t marker)
{
    return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

/* Finds the sampling factors in a header that the decoder found sound; zeros without three
 * components. */
static void find_sampling(const uint8_t *head, size_t size, uint8_t sampling[ITEM_COMPONENTS])
{
    memset(sampling, 0, ITEM_COMPONENTS);
    size_t at = 2;
    while (at + 10 + 3 * ITEM_COMPONENTS <= size && head[at] == 0xff) {
        if (is_frame(head[at + 1])) {
            for (size_t i = 0; head[at + 9] == ITEM_COMPONENTS && i < ITEM_COMPONENTS; i++) {
                sampling[i] = head[at + 11 + 3 * i];
            }
            return;
        }
        at += head[at + 1] == 0xff ? 1 : 2 + ((size_t)head[at + 2] << 8 | head[at + 3]);
    }
}

static void look_at(struct item *item, const uint8_t *head, size_t size)
{
    const struct stk_jpeg_info *info = &item->info;
    item->sound = !info->progressive && !info->multiscan && tables_are_sound(head, size);
    find_sampling(head, size, item->sampling);
}

/* ---- reading ---- */

/* Takes a form from the store; the file need not be read. */
static enum item_found take_form(struct item *item, const struct stored_found *found)
{
    item->form = found->form;
    item->info = found->source.info;
    item->size = found->source.file_bytes;
    look_at(item, found->source.header, found->source.header_bytes);
    /* A form was made of all scans. */
    item->sound |= item->info.progressive || item->info.multiscan;
    return ITEM_FORM;
}

/* NULL: there is no such piece left. */
static uint8_t *take_piece(struct space *space, size_t bytes)
{
    size_t at = atomic_fetch_add(&space->taken, bytes);
    return at + bytes <= space->bytes ? space->data + at : NULL;
}

/* Memory of its own, with what it has so far. */
static uint8_t *move_out(struct item *item, size_t room)
{
    uint8_t *own = realloc(item->own, room);
    if (own == NULL) {
        return NULL;
    }
    if (item->room > 0 && item->own == NULL) {
        memcpy(own, item->bytes, item->room);
    }
    item->own = own;
    return own;
}

static bool has_room(struct item *item, size_t wanted)
{
    if (wanted <= item->room) {
        return true;
    }
    if (wanted > ITEM_LARGEST_BYTES) {
        return false;
    }
    size_t room = (wanted + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
    uint8_t *bytes = item->room == 0 ? take_piece(item->space, room) : NULL;
    bytes = bytes != NULL ? bytes : move_out(item, room);
    if (bytes == NULL) {
        return false;
    }
    item->bytes = bytes;
    item->room = room;
    return true;
}

/* Drops the bytes of the previous file. */
static void forget_bytes(struct item *item)
{
    free(item->own);
    item->bytes = item->own = NULL;
    item->room = 0;
}

/* To the end, wherever that is by now. */
static bool read_all(struct item *item, int fd, size_t likely)
{
    size_t size = 0;
    ssize_t count = 1;
    while (count > 0 && has_room(item, (size < likely ? likely : size) + 1)) {
        count = read(fd, item->bytes + size, item->room - size);
        size += count > 0 ? (size_t)count : 0;
    }
    item->size = size;
    return count == 0;
}

/* The bytes were read by this descriptor; what stood for the file before may still do. */
static bool is_still(const struct item *item, int fd, const struct identity *before)
{
    struct identity now;
    bool is_entry = before->mark.own_dev != 0;
    return (is_entry || stored_wants_link(item->bytes, item->size)) &&
           identity_of(fd, STK_IDENTITY_NOW, &now) && now.link.low == before->link.low &&
           now.link.high == before->link.high;
}

static bool read_bytes(struct item *item, int fd, size_t likely)
{
    struct stk_decoder *decoder = thread_decoder();
    if (decoder == NULL || !read_all(item, fd, likely) ||
        stk_decode_examine(decoder, item->bytes, item->size, &item->info) != STK_DECODE_OK) {
        return false;
    }
    look_at(item, item->bytes, item->size);
    return true;
}

static enum item_found find(struct item *item, int fd)
{
    struct stat stat;
    struct stored_found found;
    if (fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode) ||
        (uint64_t)stat.st_size >= ITEM_LARGEST_BYTES) {
        return ITEM_NOTHING;
    }
    enum stored_kind kind = stored_find(fd, &found);
    if (kind == STORED_FORM) {
        identity_tell_decoded(fd, true, NULL, 0);
        return take_form(item, &found);
    }
    if (!read_bytes(item, fd, (size_t)stat.st_size)) {
        return ITEM_NOTHING;
    }
    item->has_link = kind == STORED_NO_FORM && is_still(item, fd, &found.identity);
    if (item->has_link) {
        item->link = found.identity.link;
    }
    identity_tell_decoded(fd, false, NULL, 0);
    return ITEM_BYTES;
}

/* Finds the form of a file without an entry, without opening it: an open would ask the origin. */
static bool find_unopened(struct item *item)
{
    struct stored_found found;
    if (!stored_find_path(item->path, &found)) {
        return false;
    }
    identity_tell_served(item->path);
    item->found = take_form(item, &found);
    return true;
}

/* Returns true for a pipe, which is Pillow's to wait for. An opening for a moment would let a
 * writer go on, and what it writes would be lost. */
static bool is_pipe(const char *path)
{
    struct stat seen;
    return stat(path, &seen) == 0 && S_ISFIFO(seen.st_mode);
}

static void read_item(struct item *item)
{
    item->found = ITEM_NOTHING;
    forget_bytes(item);
    if (item->path == NULL || find_unopened(item)) {
        return;
    }
    int fd = is_pipe(item->path) ? -1 : open(item->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0) {
        item->found = find(item, fd);
        close(fd);
    }
}

void item_read(struct pool_task *task)
{
    int64_t began_ns = stk_sys_clock_ns(CLOCK_MONOTONIC);
    read_item((struct item *)task);
    count_time(began_ns);
}

/* ---- decoding ---- */

static int decode(struct item *item, struct stk_decoder *decoder)
{
    if (item->found == ITEM_FORM) {
        return stored_decode_form(decoder, &item->form, item->size, &item->plan, &item->target);
    }
    const struct stored_file file = {.link = item->has_link ? &item->link : NULL};
    return stored_decode(decoder, item->bytes, item->size, &file, &item->plan, &item->target);
}

void item_decode(struct pool_task *task)
{
    struct item *item = (struct item *)task;
    if (!item->is_wanted) {
        return;
    }
    int64_t began_ns = stk_sys_clock_ns(CLOCK_MONOTONIC);
    struct stk_decoder *decoder = thread_decoder();
    item->plan.end = item->info.end;
    item->status = decoder == NULL ? STK_DECODE_MEMORY : decode(item, decoder);
    atomic_thread_fence(memory_order_seq_cst); /* behind what was streamed */
    count_time(began_ns);
    if (item->status != STK_DECODE_OK) {
        return; /* the later decoding counts it */
    }
    count_more(STK_TALLY_IMAGES, 1);
    if (item->found == ITEM_FORM) {
        count_more(STK_TALLY_UNREAD, 1);
        count_more(STK_TALLY_UNREAD_BYTES, item->size);
    }
}

void item_clear(struct item *item)
{
    forget_bytes(item);
    *item = (struct item){.path = NULL};
}
