/*
 * Most tables are those of a normalisation: (x / 255 - mean) / std, each step rounded. Some have a
 * product with 1 / 255 in the place of the quotient, and some have x alone, with a mean and a std
 * of bytes. A kernel computes these floats faster than it looks them up. A table does not say its
 * mean and std, so they are searched for, and tried with all 256 bytes.
 */
#include "decode/resize/emit.h"

#include <math.h>
#include <string.h>

/* A mean and a std that the first and the last float give are so many floats away at the most. */
#define STD_AWAY  4
#define MEAN_AWAY 2

/* The tables of the last call. */
struct memo {
    float floats[3 * 256];
    struct stk_tables tables;
};

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static bool is_same(float a, float b)
{
    return bits_of(a) == bits_of(b);
}

/* The float that is so many floats farther from 0. */
static float step(float from, int steps)
{
    uint32_t bits = bits_of(from) + (uint32_t)steps;
    memcpy(&from, &bits, sizeof from);
    return from;
}

/* Computes as kernels do. */
static bool is_scaled(const float table[256], const struct stk_scaling *scaling, float byte_rate,
                      float byte_rest)
{
    for (int i = 0; i < 256; i++) {
        float value = (float)i, rest = value * byte_rest;
        value = fmaf(value, byte_rate, rest) - scaling->mean;
        rest = value * scaling->rest;
        if (!is_same(fmaf(value, scaling->rate, rest), table[i])) {
            return false;
        }
    }
    return true;
}

static struct stk_scaling scaling_of(float mean, float std)
{
    double rate = 1.0 / (double)std;
    return (struct stk_scaling){
        .mean = mean, .rate = (float)rate, .rest = (float)(rate - (double)(float)rate)};
}

static bool find_scaling(struct stk_scaling *out, const float table[256], float byte_rate,
                         float byte_rest)
{
    double first = (double)table[0], span = (double)table[255] - first;
    double most = 255 * ((double)byte_rate + (double)byte_rest);
    for (int s = -STD_AWAY; s <= STD_AWAY; s++) {
        float std = step((float)(most / span), s);
        for (int m = -MEAN_AWAY; m <= MEAN_AWAY; m++) {
            float mean = step((float)(-first * (double)std), m);
            *out = scaling_of(mean, std);
            if (is_scaled(table, out, byte_rate, byte_rest)) {
                return true;
            }
        }
    }
    return false;
}

/* Returns true if scaling leaves the 255ths as they are. */
static bool is_share(const struct stk_scaling *scaling)
{
    return scaling->mean == 0 && scaling->rate == 1 && scaling->rest == 0;
}

static void find_scalings(struct stk_tables *tables, float byte_rate, float byte_rest)
{
    tables->is_scaled = tables->is_share = true;
    tables->byte_rate = byte_rate;
    tables->byte_rest = byte_rest;
    for (size_t c = 0; c < 3; c++) {
        struct stk_scaling *scaling = &tables->scaling[c];
        bool found = tables->is_scaled &&
                     find_scaling(scaling, tables->floats + 256 * c, byte_rate, byte_rest);
        tables->is_scaled = found;
        tables->is_share &= found && is_share(scaling);
    }
}

const struct stk_tables *stk_tables_get(struct stk_workspace *workspace, const float *floats)
{
    bool is_new = workspace->scratch[STK_SCRATCH_TABLES].data == NULL;
    struct memo *memo = stk_workspace_get(workspace, STK_SCRATCH_TABLES, sizeof *memo);
    if (!memo || (!is_new && memcmp((const void *)memo->floats, (const void *)floats,
                                    sizeof memo->floats) == 0)) {
        return memo ? &memo->tables : NULL;
    }
    memcpy(memo->floats, floats, sizeof memo->floats);
    memo->tables.floats = memo->floats;
    static const float bytes[][2] = {{STK_BYTE_RATE, STK_BYTE_REST}, {STK_BYTE_RATE, 0}, {1, 0}};
    memo->tables.is_scaled = false;
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes && !memo->tables.is_scaled; i++) {
        find_scalings(&memo->tables, bytes[i][0], bytes[i][1]);
    }
    return &memo->tables;
}
