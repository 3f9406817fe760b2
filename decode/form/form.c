/* The head of a form. */
#include "decode/form/form.h"

#include <string.h>

#include "decode/common/little.h"

#define MAGIC       0x466b7473u /* stkF */
#define HEAD_BYTES  64u
#define INDEX_ENTRY 4u
/* libjpeg's limit. */
#define MOST_PIXELS 65500u

/* Where the numbers of the head stand. */
enum {
    AT_VERSION = 4,      /* 2 bytes */
    AT_GROUP_ROWS = 6,   /* 2 */
    AT_BYTES = 8,        /* 8: of the form */
    AT_FILE_BYTES = 16,  /* 8 */
    AT_END = 24,         /* 8 */
    AT_WIDTH = 32,       /* 4 */
    AT_HEIGHT = 36,      /* 4 */
    AT_COMPONENTS = 40,  /* 1 */
    AT_COLOR = 41,       /* 1 */
    AT_PRECISION = 42,   /* 1 */
    AT_PROGRESSIVE = 43, /* 1 */
    AT_ARITHMETIC = 44,  /* 1 */
    AT_MULTISCAN = 45,   /* 1 */
    AT_HEADER = 48,      /* 4: bytes of the file's header */
    AT_SETUP = 52,       /* 4: bytes of the other one; 0: there is none, the file's own serves */
    AT_GROUPS = 56,      /* 4: how many */
};

size_t stk_form_head_bytes(const struct stk_form_view *view)
{
    const struct stk_form_source *source = &view->source;
    bool fits = source->header_bytes <= UINT32_MAX / 4 && view->setup_bytes <= UINT32_MAX / 4 &&
                view->group_count <= UINT32_MAX / 4 / INDEX_ENTRY;
    size_t bytes = HEAD_BYTES + source->header_bytes + view->setup_bytes +
                   (size_t)INDEX_ENTRY * view->group_count;
    return fits ? bytes : 0;
}

static void write_info(uint8_t *out, const struct stk_jpeg_info *info)
{
    stk_put_little(out + AT_END, info->end, 8);
    stk_put_little(out + AT_WIDTH, info->width, 4);
    stk_put_little(out + AT_HEIGHT, info->height, 4);
    out[AT_COMPONENTS] = (uint8_t)info->components;
    out[AT_COLOR] = (uint8_t)info->color;
    out[AT_PRECISION] = info->precision;
    out[AT_PROGRESSIVE] = info->progressive;
    out[AT_ARITHMETIC] = info->arithmetic;
    out[AT_MULTISCAN] = info->multiscan;
}

uint8_t *stk_form_write_head(uint8_t *out, const struct stk_form_view *view, size_t bytes)
{
    const struct stk_form_source *source = &view->source;
    memset(out, 0, HEAD_BYTES);
    stk_put_little(out, MAGIC, 4);
    stk_put_little(out + AT_VERSION, STK_FORM_VERSION, 2);
    stk_put_little(out + AT_GROUP_ROWS, view->group_rows, 2);
    stk_put_little(out + AT_BYTES, bytes, 8);
    stk_put_little(out + AT_FILE_BYTES, source->file_bytes, 8);
    stk_put_little(out + AT_HEADER, source->header_bytes, 4);
    stk_put_little(out + AT_SETUP, view->setup_bytes, 4);
    stk_put_little(out + AT_GROUPS, view->group_count, 4);
    write_info(out, &source->info);
    memcpy(out + HEAD_BYTES, source->header, source->header_bytes);
    if (view->setup_bytes > 0) {
        memcpy(out + HEAD_BYTES + source->header_bytes, view->setup, view->setup_bytes);
    }
    return out + HEAD_BYTES + source->header_bytes + view->setup_bytes;
}

static bool read_info(const uint8_t *at, struct stk_jpeg_info *info)
{
    *info = (struct stk_jpeg_info){
        .width = (uint32_t)stk_get_little(at + AT_WIDTH, 4),
        .height = (uint32_t)stk_get_little(at + AT_HEIGHT, 4),
        .components = at[AT_COMPONENTS],
        .color = (enum stk_color)at[AT_COLOR],
        .precision = at[AT_PRECISION],
        .progressive = at[AT_PROGRESSIVE],
        .arithmetic = at[AT_ARITHMETIC],
        .multiscan = at[AT_MULTISCAN],
        .end = stk_get_little(at + AT_END, 8),
    };
    return info->width > 0 && info->width <= MOST_PIXELS && info->height > 0 &&
           info->height <= MOST_PIXELS && info->components > 0 && info->components <= 4 &&
           info->color <= STK_COLOR_OTHER && info->progressive <= 1 && info->arithmetic <= 1 &&
           info->multiscan <= 1;
}

static bool is_header(const uint8_t *at, size_t bytes)
{
    return bytes >= 4 && at[0] == 0xff && at[1] == 0xd8;
}

/* The parts one behind the other, all of them within the form. */
static bool find_parts(struct stk_form_view *view, const uint8_t *data, size_t bytes)
{
    size_t head = stk_form_head_bytes(view);
    if (head == 0 || head > bytes - STK_FORM_SLACK || bytes - STK_FORM_SLACK - head > UINT32_MAX) {
        return false;
    }
    view->source.header = data + HEAD_BYTES;
    view->setup = data + HEAD_BYTES + view->source.header_bytes;
    view->index = view->setup + view->setup_bytes;
    view->groups = data + head;
    view->groups_bytes = (uint32_t)(bytes - STK_FORM_SLACK - head);
    if (view->setup_bytes == 0) {
        view->setup = view->source.header;
        view->setup_bytes = view->source.header_bytes;
    }
    return is_header(view->source.header, view->source.header_bytes) &&
           is_header(view->setup, view->setup_bytes);
}

int stk_form_open(struct stk_form_view *view, const void *data, size_t bytes)
{
    const uint8_t *at = data;
    if (bytes < HEAD_BYTES + STK_FORM_SLACK || stk_get_little(at, 4) != MAGIC) {
        return STK_DECODE_CORRUPT;
    }
    if (stk_get_little(at + AT_VERSION, 2) != STK_FORM_VERSION) {
        return STK_DECODE_UNSUPPORTED;
    }
    *view = (struct stk_form_view){
        .source.header_bytes = stk_get_little(at + AT_HEADER, 4),
        .source.file_bytes = stk_get_little(at + AT_FILE_BYTES, 8),
        .setup_bytes = stk_get_little(at + AT_SETUP, 4),
        .group_rows = (uint32_t)stk_get_little(at + AT_GROUP_ROWS, 2),
        .group_count = (uint32_t)stk_get_little(at + AT_GROUPS, 4),
    };
    bool sound = stk_get_little(at + AT_BYTES, 8) == bytes && view->group_rows > 0 &&
                 view->group_rows <= STK_GROUP_MOST_ROWS && read_info(at, &view->source.info) &&
                 find_parts(view, at, bytes);
    return sound ? STK_DECODE_OK : STK_DECODE_CORRUPT;
}

bool stk_form_find_group(const struct stk_form_view *view, uint32_t number, const uint8_t **begin,
                         const uint8_t **end)
{
    if (number >= view->group_count) {
        return false;
    }
    const uint8_t *entry = view->index + (size_t)INDEX_ENTRY * number;
    uint64_t from = number > 0 ? stk_get_little(entry - INDEX_ENTRY, INDEX_ENTRY) : 0;
    uint64_t to = stk_get_little(entry, INDEX_ENTRY);
    if (from > to || to > view->groups_bytes) {
        return false;
    }
    *begin = view->groups + from;
    *end = view->groups + to;
    return true;
}
