/*
 * Values that are looked up: a table for each band, which may be made of how often each value is
 * there. The tables are those of Pillow's ImageOps, in doubles as Python's.
 */
#include "decode/operations/operations.h"

#include <string.h>

#define VALUES STK_TABLE_VALUES

void stk_look_up(const struct stk_picture *out, const struct stk_picture *in,
                 const struct stk_value_tables *tables)
{
    const struct stk_operations *operations = stk_operations_select();
    for (uint32_t y = 0; y < out->height; y++) {
        if (out->pixel_bytes == 1) {
            operations->look_up_grey(out->rows[y], in->rows[y], tables->band[0], out->width);
        } else {
            operations->look_up(out->rows[y], in->rows[y], tables->band[0], out->width);
        }
    }
}

/* How often each value of a band is there. */
struct histogram {
    uint32_t of[VALUES];
};

/* Neighbours are often equal, and a count that was just stored is slow to load: they take turns. */
#define TURNS 4

/* Counts of pixels by turns, one behind the other. */
struct counts {
    struct histogram bands[TURNS][3];
};

static void count_row(struct counts *counts, const uint8_t *row, size_t width, size_t step)
{
    for (size_t i = 0; i < width; i++, row += step) {
        struct histogram *bands = counts->bands[i % TURNS];
        bands[0].of[row[0]]++;
        if (step != 1) {
            bands[1].of[row[1]]++;
            bands[2].of[row[2]]++;
        }
    }
}

/* Adds all turns to the first one. */
static const struct histogram *sum_of(struct counts *counts, size_t band)
{
    for (unsigned turn = 1; turn < TURNS; turn++) {
        for (unsigned i = 0; i < VALUES; i++) {
            counts->bands[0][band].of[i] += counts->bands[turn][band].of[i];
        }
    }
    return &counts->bands[0][band];
}

static void stay(uint8_t table[VALUES])
{
    for (int i = 0; i < VALUES; i++) {
        table[i] = (uint8_t)i;
    }
}

/* Spreads the values that are there from 0 to 255. */
static void spread(uint8_t table[VALUES], const struct histogram *histogram)
{
    int low = 0, high = VALUES - 1;
    while (low < VALUES - 1 && histogram->of[low] == 0) {
        low++;
    }
    while (high > 0 && histogram->of[high] == 0) {
        high--;
    }
    double scale = high > low ? 255.0 / (high - low) : 1.0;
    double offset = high > low ? -low * scale : 0.0;
    for (int i = 0; i < VALUES; i++) {
        double value = i * scale + offset;
        table[i] = value <= 0.0 ? 0 : value >= 255.0 ? 255 : (uint8_t)value;
    }
}

/* Makes all values about as frequent. */
static void even_out(uint8_t table[VALUES], const struct histogram *histogram)
{
    uint64_t all = 0, step, next;
    uint32_t last = 0;
    for (int i = 0; i < VALUES; i++) {
        all += histogram->of[i];
        last = histogram->of[i] > 0 ? histogram->of[i] : last;
    }
    step = (all - last) / 255;
    if (step == 0) {
        stay(table);
        return;
    }
    next = step / 2;
    for (int i = 0; i < VALUES; i++) {
        table[i] = (uint8_t)(next / step < 255 ? next / step : 255);
        next += histogram->of[i];
    }
}

void stk_find_tables(struct stk_value_tables *out, const struct stk_picture *in,
                     enum stk_table_kind kind)
{
    struct counts counts = {0};
    for (uint32_t y = 0; y < in->height; y++) {
        count_row(&counts, in->rows[y], in->width, in->pixel_bytes);
    }
    memset(out, 0, sizeof *out);
    for (size_t band = 0; band < (in->pixel_bytes == 1 ? 1 : 3); band++) {
        if (kind == STK_SPREAD) {
            spread(out->band[band], sum_of(&counts, band));
        } else {
            even_out(out->band[band], sum_of(&counts, band));
        }
    }
}
