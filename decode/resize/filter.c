/*
 * The filters' curves, in double. Each rounding counts, since a weight that differs in the last of
 * its 22 bits can show in a pixel. So the order of the operations is Pillow's. This file must not
 * be compiled with contraction to fused multiplications.
 */
#include "decode/resize/filter.h"

#include <math.h>

static double box(double x)
{
    return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
}

static double bilinear(double x)
{
    x = fabs(x);
    return x < 1.0 ? 1.0 - x : 0.0;
}

static double hamming(double x)
{
    x = fabs(x);
    if (x == 0.0) {
        return 1.0;
    }
    if (x >= 1.0) {
        return 0.0;
    }
    x *= M_PI;
    return sin(x) / x * ((double)0.54f + (double)0.46f * cos(x));
}

static double bicubic(double x)
{
    const double a = -0.5;
    x = fabs(x);
    if (x < 1.0) {
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
    }
    return x < 2.0 ? (((x - 5) * x + 8) * x - 4) * a : 0.0;
}

static double sinc(double x)
{
    if (x == 0.0) {
        return 1.0;
    }
    x *= M_PI;
    return sin(x) / x;
}

static double lanczos(double x)
{
    return -3.0 <= x && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0;
}

/* A function of its own for each, so that compilers do several weights at once. */
#define WEIGH(curve)                                                                               \
    static void weigh_##curve(double *row, uint32_t length)                                        \
    {                                                                                              \
        for (uint32_t i = 0; i < length; i++) {                                                    \
            row[i] = curve(row[i]);                                                                \
        }                                                                                          \
    }
WEIGH(box)
WEIGH(bilinear)
WEIGH(hamming)
WEIGH(bicubic)
WEIGH(lanczos)

const struct stk_filter_curve *stk_filter_curve_get(enum stk_filter filter)
{
    static const struct stk_filter_curve curves[] = {
        [STK_FILTER_BOX] = {weigh_box, 0.5},         [STK_FILTER_BILINEAR] = {weigh_bilinear, 1.0},
        [STK_FILTER_HAMMING] = {weigh_hamming, 1.0}, [STK_FILTER_BICUBIC] = {weigh_bicubic, 2.0},
        [STK_FILTER_LANCZOS] = {weigh_lanczos, 3.0},
    };
    unsigned index = (unsigned)filter;
    if (index >= sizeof curves / sizeof *curves || !curves[index].weigh) {
        return NULL;
    }
    return &curves[index];
}
