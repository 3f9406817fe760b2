/* Operations that go through an image row by row. */
#include "decode/operations/operations.h"

#include <string.h>

static size_t row_bytes(const struct stk_picture *image)
{
    return (size_t)image->width * image->pixel_bytes;
}

#define MOST_WAY 255    /* from one byte to another */
#define LARGEST  100.0f /* share to look for: products with a way fit into 16 bits */
/* Floats round no sum of a byte and such a part up to an integer. */
#define MOST_PART (1 - 1.0f / 32768)

/* Returns true if an integer for each way is the float's, rounded down, and would still be if the
 * float were rounded again in a sum with a byte. */
static bool is_proven(struct stk_share share)
{
    bool is_same = true;
    for (int32_t way = -MOST_WAY; way <= MOST_WAY; way++) {
        float exactly = share.number * (float)way;
        float found = (float)(way * share.whole + (way * share.part >> 16));
        is_same &= found <= exactly && exactly < found + MOST_PART;
    }
    return is_same;
}

/* Returns a share with the integers that stand for it, if there are any. */
static struct stk_share share_of(float number)
{
    struct stk_share share = {.number = number};
    if (!(number > -LARGEST && number < LARGEST)) {
        return share;
    }
    share.whole = (int16_t)(number < 0 ? number - 0.5f : number + 0.5f);
    float part = (number - (float)share.whole) * 65536;
    int32_t below = (int32_t)part - (part < 0);
    for (int32_t near = below; near <= below + 1 && !share.is_proven; near++) {
        share.part = (int16_t)(near < INT16_MIN ? INT16_MIN : near > INT16_MAX ? INT16_MAX : near);
        share.is_proven = is_proven(share);
    }
    return share;
}

void stk_blend(const struct stk_picture *out, const struct stk_picture *a,
               const struct stk_picture *b, float share)
{
    const struct stk_operations *operations = stk_operations_select();
    struct stk_share by = share_of(share);
    for (uint32_t y = 0; y < out->height; y++) {
        operations->blend(out->rows[y], a->rows[y], b->rows[y], by, row_bytes(out));
    }
}

void stk_convert(const struct stk_picture *out, const struct stk_picture *in,
                 enum stk_conversion kind)
{
    const struct stk_operations *operations = stk_operations_select();
    void (*const convert[])(uint8_t *, const uint8_t *, size_t) = {
        [STK_TO_GREY] = operations->to_grey,
        [STK_FROM_GREY] = operations->from_grey,
        [STK_TO_HSV] = operations->to_hsv,
        [STK_FROM_HSV] = operations->from_hsv,
    };
    for (uint32_t y = 0; y < out->height; y++) {
        convert[kind](out->rows[y], in->rows[y], out->width);
    }
}

/* Returns the colour of which an image without contrast is. */
static uint32_t mean_grey(const struct stk_operations *operations, const struct stk_picture *image)
{
    uint64_t sum = 0;
    for (uint32_t y = 0; y < image->height; y++) {
        sum += operations->sum_greys(image->rows[y], image->width);
    }
    double mean = (double)sum / ((double)image->width * image->height);
    return (uint32_t)(mean + 0.5) * UINT32_C(0x10101) | UINT32_C(0xff000000);
}

/* A change of colours, and what the whole image says of it. */
struct change {
    enum stk_recolouring_kind kind;
    struct stk_share share;
    uint32_t turn;    /* of the hue */
    uint32_t without; /* the colour to go from */
};

static struct change change_of(const struct stk_operations *operations,
                               struct stk_recolouring wanted, const struct stk_picture *image)
{
    struct change change = {.kind = wanted.kind};
    if (change.kind == STK_HUE) {
        change.turn = (uint32_t)wanted.number;
    } else {
        change.share = share_of(wanted.number);
        change.without = change.kind == STK_CONTRAST ? mean_grey(operations, image) : 0;
    }
    return change;
}

static void change_row(const struct stk_operations *operations, const struct change *change,
                       uint8_t *row, size_t width)
{
    switch (change->kind) {
    case STK_BRIGHTNESS:
    case STK_CONTRAST:
        operations->from_colour(row, change->without, change->share, width);
        break;
    case STK_SATURATION:
        operations->from_own_grey(row, change->share, width);
        break;
    case STK_HUE:
        operations->turn_hue(row, change->turn, width);
        break;
    }
}

void stk_recolour(const struct stk_picture *out, const struct stk_picture *in,
                  const struct stk_recolouring *changes, unsigned count)
{
    const struct stk_operations *operations = stk_operations_select();
    for (uint32_t y = 0; y < out->height && out->rows[y] != in->rows[y]; y++) {
        memcpy(out->rows[y], in->rows[y], row_bytes(out));
    }
    for (unsigned i = 0; i < count; i++) {
        struct change change = change_of(operations, changes[i], out);
        for (uint32_t y = 0; y < out->height; y++) {
            change_row(operations, &change, out->rows[y], out->width);
        }
    }
}

/* Returns true for the weights of Pillow's SMOOTH. */
static bool is_smoothing(const float weights[9])
{
    bool is_same = true;
    for (unsigned i = 0; i < 9; i++) {
        is_same &= weights[i] == (i == 4 ? 5.0f : 1.0f) / 13;
    }
    return is_same;
}

/* Makes the inner pixels of row y. The fourth byte of a colour becomes 0, as in Pillow. */
static void weigh_row(const struct stk_operations *operations, const struct stk_picture *out,
                      const struct stk_picture *in, uint32_t y, const float weights[9])
{
    size_t step = in->pixel_bytes, bytes = row_bytes(in) - 2 * step;
    const uint8_t *const rows[3] = {in->rows[y - 1] + step, in->rows[y] + step,
                                    in->rows[y + 1] + step};
    uint8_t *to = out->rows[y] + step;
    if (is_smoothing(weights)) {
        operations->smooth(to, rows, step, bytes);
    } else {
        operations->weigh_nine(to, rows, weights, step, bytes);
    }
    for (size_t i = 0; step == 4 && i < bytes; i += 4) {
        uint32_t pixel; /* a whole one: a compiler makes vectors of these */
        memcpy(&pixel, to + i, sizeof pixel);
        pixel &= UINT32_C(0xffffff);
        memcpy(to + i, &pixel, sizeof pixel);
    }
}

void stk_weigh_nine(const struct stk_picture *out, const struct stk_picture *in,
                    const float weights[9])
{
    const struct stk_operations *operations = stk_operations_select();
    size_t step = in->pixel_bytes, all = row_bytes(in);
    for (uint32_t y = 0; y < in->height; y++) {
        if (y == 0 || y == in->height - 1 || in->width < 3) {
            memcpy(out->rows[y], in->rows[y], all);
            continue;
        }
        memcpy(out->rows[y], in->rows[y], step);
        memcpy(out->rows[y] + all - step, in->rows[y] + all - step, step);
        weigh_row(operations, out, in, y, weights);
    }
}

bool stk_warp_image(const struct stk_picture *out, const struct stk_picture *in,
                    struct stk_warp warp)
{
    const struct stk_operations *operations = stk_operations_select();
    warp.rows = (const uint8_t *const *)in->rows;
    warp.width = in->width;
    warp.height = in->height;
    for (uint32_t y = 0; y < out->height; y++) {
        if (!operations->warp(out->rows[y], &warp, y, out->width)) {
            return false;
        }
    }
    return true;
}
