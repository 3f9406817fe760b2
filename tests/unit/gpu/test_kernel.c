/* The kernel's grid, walked on this processor, and the plan that does the same without a grid. Both
 * are compared with a plain reference in this file. */
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gpu/host.h"
#include "gpu/plan.h"
#include "tests/gpu/walk.h"

#define IMAGES  2
#define LARGEST 257

/* ---- the reference ---- */

/* A format of 16 bits: so many of fraction, and the exponents of its normal numbers. */
struct format {
    int fraction, lowest, highest;
};

static const struct format half = {10, -14, 15}, brain = {7, -126, 127};

/* By the definition: what lies nearest among the multiples of the last bit. */
static uint32_t nearest(float value, const struct format *format)
{
    uint32_t sign = signbit(value) ? 0x8000U : 0U, top = (1U << (15 - format->fraction)) - 1U;
    double size = fabs((double)value);
    if (size == 0) {
        return sign;
    }
    int exponent = isinf(size) ? format->highest + 1 : ilogb(size);
    exponent = exponent < format->lowest ? format->lowest : exponent;
    double units =
        exponent > format->highest ? HUGE_VAL : nearbyint(ldexp(size, format->fraction - exponent));
    if (units >= ldexp(2, format->fraction) && exponent >= format->highest) {
        return sign | top << format->fraction;
    }
    uint32_t bits = (uint32_t)units; /* with the leading bit, if the number is a normal one */
    return sign | (bits + ((uint32_t)(exponent - format->lowest) << format->fraction));
}

static uint32_t number_of(const struct stk_gpu_plan *plan, uint32_t byte, uint32_t channel)
{
    float unit = (float)byte / 255.0F;
    float value = (unit - plan->mean[channel]) / plan->std[channel];
    if (plan->type == STK_GPU_F32) {
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        return bits;
    }
    return nearest(value, plan->type == STK_GPU_F16 ? &half : &brain);
}

/* `share` is whose fill the channel has. */
static uint32_t byte_at(const struct stk_gpu_plan *plan, const struct stk_gpu_image *image,
                        uint32_t row, uint32_t column, uint32_t channel, uint32_t share)
{
    int64_t y = (int64_t)row + image->top;
    int64_t x = (int64_t)(image->flip ? plan->width - 1 - column : column) + image->left;
    if (y < 0 || y >= image->height || x < 0 || x >= image->width) {
        return plan->fill[share];
    }
    const uint8_t *pixels = (const uint8_t *)(uintptr_t)image->pixels;
    return pixels[(size_t)y * image->stride + (size_t)x * plan->channels + channel];
}

static void store(const struct stk_gpu_plan *plan, unsigned char *out, size_t index, uint32_t bits)
{
    if (plan->type == STK_GPU_F32) {
        memcpy(out + index * 4, &bits, 4);
    } else {
        uint16_t small = (uint16_t)bits;
        memcpy(out + index * 2, &small, 2);
    }
}

/* One table serves all bytes of a channel, so it is made once. */
static uint32_t table[STK_GPU_CHANNELS][256];

static void make_table(const struct stk_gpu_plan *plan)
{
    for (uint32_t c = 0; c < plan->channels * plan->planes; c++) {
        for (uint32_t byte = 0; byte < 256; byte++) {
            table[c][byte] = number_of(plan, byte, c);
        }
    }
}

static void make_expected(const struct stk_gpu_plan *plan, const struct stk_gpu_image *images,
                          unsigned char *out)
{
    uint32_t channels = plan->channels, height = plan->height, width = plan->width;
    for (uint32_t n = 0; n < IMAGES; n++) {
        for (uint32_t c = 0; c < channels; c++) {
            uint32_t share = c + n % plan->planes;
            for (uint32_t y = 0; y < height; y++) {
                for (uint32_t x = 0; x < width; x++) {
                    size_t at = plan->layout == STK_GPU_NCHW
                                    ? ((n * channels + c) * height + y) * width + x
                                    : ((n * height + y) * width + x) * channels + c;
                    store(plan, out, at, table[share][byte_at(plan, &images[n], y, x, c, share)]);
                }
            }
        }
    }
}

/* ---- memory with guards ---- */

/* Pages between two that may not be touched. */
struct guarded {
    unsigned char *pages;
    size_t bytes;
};

static struct guarded guarded_make(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + page - 1) / page * page;
    unsigned char *all = mmap(NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(all, MAP_FAILED);
    ck_assert_int_eq(mprotect(all + page, room, PROT_READ | PROT_WRITE), 0);
    return (struct guarded){all + page, room};
}

/* So many bytes at the one end or at the other. */
static unsigned char *guarded_at(const struct guarded *guarded, size_t bytes, bool end)
{
    ck_assert_uint_le(bytes, guarded->bytes);
    return guarded->pages + (end ? guarded->bytes - bytes : 0);
}

/* ---- a batch in all its forms ---- */

static struct {
    struct guarded image[IMAGES], out, expected;
} memory;

static const struct stk_gpu_plan imagenet = {
    .mean = {0.485F, 0.456F, 0.406F},
    .std = {0.229F, 0.224F, 0.225F},
    .fill = {7, 0, 200},
};

static void make_memory(void)
{
    size_t most = (size_t)(LARGEST + 16) * (LARGEST + 16) * 3;
    for (int i = 0; i < IMAGES; i++) {
        memory.image[i] = guarded_make(most);
    }
    memory.out = guarded_make(most * IMAGES * 4);
    memory.expected = guarded_make(most * IMAGES * 4);
}

static void scribble(unsigned char *bytes, size_t count)
{
    static uint32_t state = 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525U + 1013904223U;
        bytes[i] = (unsigned char)(state >> 24);
    }
}

/* How the images of a batch lie. */
struct form {
    uint32_t width, height; /* of the window */
    uint32_t wider, higher; /* so much larger is the image */
    uint32_t odd;           /* bytes between its rows */
    int32_t left, top;
    bool end; /* it ends at the guard */
};

static void place_image(const struct stk_gpu_plan *plan, const struct form *form, uint32_t which,
                        struct stk_gpu_image *image)
{
    *image = (struct stk_gpu_image){
        .width = form->width + form->wider,
        .height = form->height + form->higher,
        .left = which == 0 ? form->left : 0,
        .top = which == 0 ? form->top : 0,
        .flip = (which ^ (form->width & 1U)) & 1U,
    };
    image->stride = image->width * plan->channels + form->odd;
    size_t bytes = stk_gpu_image_bytes(plan, image);
    unsigned char *at = guarded_at(&memory.image[which], bytes, form->end);
    scribble(at, bytes);
    image->pixels = (uintptr_t)at;
}

static void compare(const struct stk_gpu_plan *plan, const struct stk_gpu_image *images,
                    const struct form *form)
{
    size_t bytes = stk_gpu_plan_bytes(plan, IMAGES);
    unsigned char *expected = guarded_at(&memory.expected, bytes, true);
    unsigned char *out = guarded_at(&memory.out, bytes, form->end);
    make_expected(plan, images, expected);
    memset(out, 0xa5, bytes);
    struct stk_gpu_job job =
        stk_gpu_plan_job(plan, (uintptr_t)images, IMAGES, (uint64_t)(uintptr_t)out);
    walk(walk_entry_for(plan->type, plan->layout, plan->channels), &job,
         stk_gpu_blocks(plan->width, plan->height, plan->type), IMAGES);
    ck_assert_msg(memcmp(out, expected, bytes) == 0, "grid: %ux%u, type %d, layout %d, %u channels",
                  plan->width, plan->height, plan->type, plan->layout, plan->channels);
    memset(out, 0xa5, bytes);
    stk_gpu_plan_run(plan, images, 0, 1, out);
    stk_gpu_plan_run(plan, images, 1, IMAGES, out);
    ck_assert_msg(memcmp(out, expected, bytes) == 0, "run: %ux%u, type %d, layout %d, %u channels",
                  plan->width, plan->height, plan->type, plan->layout, plan->channels);
}

static void try_plan(struct stk_gpu_plan *plan, const struct form *form)
{
    struct stk_gpu_image images[IMAGES];
    plan->width = form->width;
    plan->height = form->height;
    for (uint32_t i = 0; i < IMAGES; i++) {
        place_image(plan, form, i, &images[i]);
    }
    ck_assert_ptr_null(stk_gpu_plan_refuse(plan, images, IMAGES));
    compare(plan, images, form);
}

/* Tries windows of one size: the whole image, a part of it, and windows beyond its edges. The
 * images lie at either end of their pages. */
static void try_size(struct stk_gpu_plan *plan, uint32_t width, uint32_t height)
{
    const struct form forms[] = {
        {width, height, 0, 0, 0, 0, 0, false},  {width, height, 0, 0, 0, 0, 0, true},
        {width, height, 5, 2, 1, 3, 1, true},   {width, height, 7, 1, 3, 2, -2, false},
        {width, height, 0, 0, 2, -4, 4, true},  {width, height, 0, 0, 5, 4, -4, false},
        {width, height, 3, 0, 0, -1, 0, false}, {width, height, 1, 0, 7, 300, 0, true},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        try_plan(plan, &forms[i]);
    }
}

/* `_i` is one of the entry points, or one of those for planes with images that take turns. */
static struct stk_gpu_plan make_plan(int i)
{
    struct stk_gpu_plan plan = imagenet;
    plan.type = (enum stk_gpu_type)(i % 3);
    plan.layout = (enum stk_gpu_layout)(i / 3 % 2);
    plan.channels = i / 6 == 1 ? 3 : 1;
    plan.planes = i / 6 == 2 ? IMAGES : 1;
    plan.width = plan.height = 1;
    ck_assert_ptr_null(stk_gpu_plan_finish(&plan));
    make_table(&plan);
    make_memory();
    return plan;
}

#define ENTRIES 15

START_TEST(rows_of_every_width_are_as_the_reference_says)
{
    struct stk_gpu_plan plan = make_plan(_i);
    for (uint32_t width = 1; width <= LARGEST; width += UNIT_STEPS(1, 5)) {
        try_size(&plan, width, 1 + width % 3);
    }
}
END_TEST

START_TEST(images_of_every_height_are_as_the_reference_says)
{
    struct stk_gpu_plan plan = make_plan(_i);
    for (uint32_t height = 1; height <= LARGEST; height += UNIT_STEPS(1, 5)) {
        try_size(&plan, 1 + height % 13, height);
    }
}
END_TEST

START_TEST(images_of_usual_sizes_are_as_the_reference_says)
{
    static const uint32_t sizes[] = {28, 32, 96, 128, 224, 227, 256};
    struct stk_gpu_plan plan = make_plan(_i);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i += UNIT_STEPS(1, 3)) {
        try_size(&plan, sizes[i], sizes[i]);
    }
}
END_TEST

/* The address sanitizer would see this, and guards do not: a word that is the image's in part. */
START_TEST(nothing_but_the_image_is_read)
{
    struct stk_gpu_plan plan = make_plan(_i);
    for (uint32_t width = 1; width <= 64; width++) {
        struct stk_gpu_image images[IMAGES];
        unsigned char *bytes[IMAGES], out[IMAGES * 64 * 3 * 4];
        plan.width = width;
        for (uint32_t i = 0; i < IMAGES; i++) {
            bytes[i] = malloc(width * plan.channels + i); /* `i` that are not the image's */
            scribble(bytes[i], width * plan.channels + i);
            images[i] = (struct stk_gpu_image){
                (uintptr_t)bytes[i] + i, width, 1, width * plan.channels, 0, 0, i};
        }
        struct stk_gpu_job job = stk_gpu_plan_job(&plan, (uintptr_t)images, IMAGES, (uintptr_t)out);
        walk(walk_entry_for(plan.type, plan.layout, plan.channels), &job,
             stk_gpu_blocks(width, 1, plan.type), IMAGES);
        for (uint32_t i = 0; i < IMAGES; i++) {
            free(bytes[i]);
        }
    }
}
END_TEST

/* No tool sees a word that begins before an image. */
START_TEST(words_are_loaded_only_within_the_image)
{
    for (uint32_t odd = 0; odd < 4; odd++) {
        const struct stk_gpu_image image = {.pixels = 4096 + odd, .width = 40, .height = 1};
        for (int32_t column = 0; column < 40; column++) {
            const struct stk_gpu_span span = {0, column, 4, 12};
            uint64_t from = (image.pixels + (uint64_t)column * 3) / 4 * 4;
            uint64_t behind = (image.pixels + (uint64_t)column * 3 + 12 + 3) / 4 * 4;
            bool is_whole = from >= image.pixels && behind <= image.pixels + 120;
            ck_assert(stk_gpu_is_whole(&image, 3, &span) == is_whole);
        }
    }
}
END_TEST

/* ---- arithmetic ---- */

START_TEST(numbers_are_rounded_to_the_nearest)
{
    for (uint32_t bits = 0; bits < 0x7f800000U; bits += UNIT_STEPS(9973, 99991)) {
        for (uint32_t sign = 0; sign <= 1; sign++) {
            float value;
            uint32_t all = bits | sign << 31;
            memcpy(&value, &all, sizeof value);
            ck_assert_uint_eq(stk_gpu_to_f16(value), nearest(value, &half));
            ck_assert_uint_eq(stk_gpu_to_bf16(value), nearest(value, &brain));
        }
    }
}
END_TEST

/* Where a number lies in the middle between two halves, just below it and just above. */
START_TEST(numbers_in_the_middle_are_rounded_to_even)
{
    for (uint32_t i = 0; i < 0x7c00U; i++) {
        double low = i < 0x400 ? ldexp(i, -24) : ldexp(1024 + i % 1024, (int)(i / 1024) - 25);
        double step = i < 0x400 ? ldexp(1, -24) : ldexp(1, (int)(i / 1024) - 25);
        float middle = (float)(low + step / 2);
        float around[] = {nextafterf(middle, 0), middle, nextafterf(middle, HUGE_VALF)};
        for (int k = 0; k < 3; k++) {
            ck_assert_uint_eq(stk_gpu_to_f16(around[k]), nearest(around[k], &half));
        }
    }
    ck_assert_uint_eq(stk_gpu_to_f16(HUGE_VALF), 0x7c00U);
    ck_assert_uint_eq(stk_gpu_to_f16(-HUGE_VALF), 0xfc00U);
    ck_assert_uint_eq(stk_gpu_to_bf16(HUGE_VALF), 0x7f80U);
}
END_TEST

static void assert_divides(struct stk_gpu_plan *plan)
{
    ck_assert_ptr_null(stk_gpu_plan_finish(plan));
    for (uint32_t byte = 0; byte < 256; byte++) {
        ck_assert_uint_eq(plan->numbers[0][byte], number_of(plan, byte, 0));
    }
}

START_TEST(divisions_are_rounded_once)
{
    struct stk_gpu_plan plan = imagenet;
    plan.channels = 1;
    plan.width = plan.height = 1;
    for (uint32_t i = 0; i < UNIT_STEPS(1000, 100); i++) {
        unsigned char random[4];
        scribble(random, sizeof random);
        plan.mean[0] = (float)(random[0] * 256 + random[1]) / 65536.0F;
        plan.std[0] = (float)(random[2] * 256 + random[3] + 1) / 65536.0F / 3.0F;
        assert_divides(&plan);
        ck_assert(plan.inverse[0] != 0);
    }
}
END_TEST

/* These cannot be divided by in the short way. */
START_TEST(divisions_by_odd_numbers_are_right_all_the_same)
{
    static const float odd[] = {1e-40F, 1e38F, 3e38F, 1e-45F};
    struct stk_gpu_plan plan = imagenet;
    plan.channels = 1;
    plan.width = plan.height = 1;
    unsigned slow = 0;
    for (size_t i = 0; i < 2 * sizeof odd / sizeof *odd; i++) {
        plan.std[0] = i % 2 == 0 ? odd[i / 2] : -odd[i / 2];
        assert_divides(&plan);
        slow += plan.inverse[0] == 0;
    }
    ck_assert_uint_gt(slow, 0);
}
END_TEST

/* So the grid divides as well, in all channels. */
START_TEST(the_grid_divides_where_it_has_to)
{
    struct stk_gpu_plan plan = make_plan(_i);
    plan.std[plan.channels * plan.planes - 1] = 1e-40F;
    ck_assert_ptr_null(stk_gpu_plan_finish(&plan));
    ck_assert(plan.inverse[0] == 0);
    make_table(&plan);
    for (uint32_t width = 1; width < 20; width++) {
        try_size(&plan, width, 2);
    }
}
END_TEST

/* ---- refusals ---- */

START_TEST(what_makes_no_sense_is_refused)
{
    struct stk_gpu_plan plan = imagenet, good;
    plan.channels = 3;
    plan.width = plan.height = 4;
    ck_assert_ptr_null(stk_gpu_plan_finish(&plan));
    good = plan;
    plan.channels = 2;
    ck_assert_ptr_nonnull(stk_gpu_plan_finish(&plan));
    plan = good, plan.width = 0;
    ck_assert_ptr_nonnull(stk_gpu_plan_finish(&plan));
    plan = good, plan.std[2] = 0;
    ck_assert_ptr_nonnull(stk_gpu_plan_finish(&plan));
    plan = good, plan.mean[1] = HUGE_VALF;
    ck_assert_ptr_nonnull(stk_gpu_plan_finish(&plan));
    plan = good, plan.type = (enum stk_gpu_type)7;
    ck_assert_ptr_nonnull(stk_gpu_plan_finish(&plan));
    plan = good, plan.planes = 2;
    ck_assert_ptr_nonnull(stk_gpu_plan_finish(&plan));
    plan = good, plan.channels = 1, plan.planes = 3, plan.layout = STK_GPU_NHWC;
    ck_assert_ptr_nonnull(stk_gpu_plan_finish(&plan));
    plan.layout = STK_GPU_NCHW;
    ck_assert_ptr_null(stk_gpu_plan_finish(&plan));
}
END_TEST

START_TEST(images_that_make_no_sense_are_refused)
{
    struct stk_gpu_plan plan = imagenet;
    plan.channels = 3;
    plan.width = plan.height = 4;
    const struct stk_gpu_image good = {.width = 4, .height = 4, .stride = 12};
    struct stk_gpu_image bad[] = {good, good, good, good};
    bad[0].width = 0;
    bad[1].stride = 11;
    bad[2].left = -65536;
    bad[3].height = 65536;
    ck_assert_ptr_null(stk_gpu_plan_refuse(&plan, &good, 1));
    ck_assert_ptr_nonnull(stk_gpu_plan_refuse(&plan, &good, 0));
    ck_assert_ptr_nonnull(stk_gpu_plan_refuse(&plan, &good, 65536));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_ptr_nonnull(stk_gpu_plan_refuse(&plan, &bad[i], 1));
    }
}
END_TEST

Suite *suite_kernel(void)
{
    Suite *suite = suite_create("kernel");
    TCase *grid = unit_case(suite, "kernel_grid");
    tcase_add_loop_test(grid, rows_of_every_width_are_as_the_reference_says, 0, ENTRIES);
    tcase_add_loop_test(grid, images_of_every_height_are_as_the_reference_says, 0, ENTRIES);
    tcase_add_loop_test(grid, images_of_usual_sizes_are_as_the_reference_says, 0, ENTRIES);
    TCase *edges = unit_case(suite, "kernel_edges");
    tcase_add_loop_test(edges, nothing_but_the_image_is_read, 0, ENTRIES);
    tcase_add_test(edges, words_are_loaded_only_within_the_image);
    TCase *arithmetic = unit_case(suite, "kernel_arithmetic");
    tcase_add_test(arithmetic, numbers_are_rounded_to_the_nearest);
    tcase_add_test(arithmetic, numbers_in_the_middle_are_rounded_to_even);
    tcase_add_test(arithmetic, divisions_are_rounded_once);
    tcase_add_test(arithmetic, divisions_by_odd_numbers_are_right_all_the_same);
    tcase_add_loop_test(arithmetic, the_grid_divides_where_it_has_to, 0, ENTRIES);
    TCase *refusals = unit_case(suite, "kernel_refusals");
    tcase_add_test(refusals, what_makes_no_sense_is_refused);
    tcase_add_test(refusals, images_that_make_no_sense_are_refused);
    return suite;
}
