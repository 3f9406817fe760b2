/*
 * Box blurs, from row to row. To blur along the rows, the axes are exchanged before and after.
 *
 * Beyond an edge the image goes on with the pixels of the edge.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decode/operations/operations.h"
#include "decode/resize/turn.h"

/* Rows without gaps: `bytes` long each. */
struct sheet {
    uint8_t *pixels;
    size_t bytes;
    uint32_t rows;
};

/* Sheets of the same number of bytes, and room for the sums of the longest row. */
struct blur {
    const struct stk_operations *operations;
    struct sheet now, other;
    uint16_t *sums;
};

static const uint8_t *row_at(const struct sheet *sheet, int64_t y)
{
    int64_t last = (int64_t)sheet->rows - 1;
    return sheet->pixels + (size_t)(y < 0 ? 0 : y > last ? last : y) * sheet->bytes;
}

static struct stk_box_weights weights_of(float radius)
{
    uint32_t inner = (uint32_t)((float)(1 << 24) / (radius * 2 + 1));
    uint32_t whole = (uint32_t)(int32_t)radius * 2 + 1;
    return (struct stk_box_weights){inner, ((1u << 24) - whole * inner) / 2};
}

/* Sums up the box around the row before the first one. */
static void begin_sums(uint16_t *sums, const struct sheet *from, int64_t radius)
{
    memset(sums, 0, from->bytes * sizeof *sums);
    for (int64_t y = -1 - radius; y < radius; y++) {
        const uint8_t *row = row_at(from, y);
        for (size_t i = 0; i < from->bytes; i++) {
            sums[i] = (uint16_t)(sums[i] + row[i]);
        }
    }
}

/* Blurs down the columns once. */
static void blur_once(struct blur *blur, float radius)
{
    struct sheet from = blur->now, to = blur->other;
    struct stk_box_weights weights = weights_of(radius);
    int64_t whole = (int64_t)radius;
    to.bytes = from.bytes;
    to.rows = from.rows;
    begin_sums(blur->sums, &from, whole);
    for (int64_t y = 0; y < from.rows; y++) {
        blur->operations->slide_box(to.pixels + (size_t)y * to.bytes, blur->sums,
                                    row_at(&from, y - whole - 1), row_at(&from, y + whole),
                                    row_at(&from, y + whole + 1), weights, from.bytes);
    }
    blur->now = to;
    blur->other = from;
}

static void exchange_axes(struct blur *blur)
{
    struct sheet from = blur->now, to = blur->other;
    to.rows = (uint32_t)(from.bytes / 4);
    to.bytes = (size_t)from.rows * 4;
    stk_turn_exchange((const void *)from.pixels, to.rows, from.rows, (void *)to.pixels);
    blur->now = to;
    blur->other = from;
}

static void blur_both(struct blur *blur, const float radius[2], unsigned passes)
{
    for (unsigned axis = 0; axis < 2; axis++) {
        exchange_axes(blur);
        for (unsigned i = 0; i < passes && radius[axis] > 0; i++) {
            blur_once(blur, radius[axis]);
        }
    }
}

int stk_box_blur(const struct stk_picture *out, const struct stk_picture *in, const float radius[2],
                 unsigned passes)
{
    size_t bytes = (size_t)in->width * 4, all = bytes * in->height;
    size_t longest = in->width > in->height ? in->width : in->height;
    uint8_t *memory = malloc(2 * all + longest * 4 * sizeof(uint16_t));
    if (memory == NULL) {
        return -ENOMEM;
    }
    struct blur blur = {.operations = stk_operations_select(),
                        .now = {memory, bytes, in->height},
                        .other = {.pixels = memory + all},
                        .sums = (uint16_t *)(void *)(memory + 2 * all)};
    for (uint32_t y = 0; y < in->height; y++) {
        memcpy(memory + y * bytes, in->rows[y], bytes);
    }
    blur_both(&blur, radius, passes);
    for (uint32_t y = 0; y < in->height; y++) {
        memcpy(out->rows[y], blur.now.pixels + y * bytes, bytes);
    }
    free(memory);
    return 0;
}

float stk_box_of_gaussian(float deviation, unsigned passes)
{
    float variance = deviation * deviation / (float)passes;
    float length = (float)sqrt(12.0 * (double)variance + 1.0);
    float whole = (float)floor(((double)length - 1.0) / 2.0);
    float part = (2 * whole + 1) * (whole * (whole + 1) - 3 * variance);
    part /= 6 * (variance - (whole + 1) * (whole + 1));
    return whole + part;
}
