/*
 * All kernels of this processor against the plain ones, over random images and plans, and over the
 * JPEGs of the fuzzer's corpus and their forms:
 *
 *     kernels CASES FILE...
 *
 * Prints a digest of what the plain kernels made: two processors must print the same.
 */
#include "decode/decode.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIDE       150
#define OUT_SIDE   180
#define PLAN_BYTES 32 /* before each file of the corpus */

static const char *const names[] = {"c", "avx2", "vnni", "avx512", "neon"};
#define KINDS (sizeof names / sizeof *names)
static struct stk_decoder *decoders[KINDS]; /* NULL: not on this processor */
static uint8_t pixels[SIDE * SIDE * 4];
/* Floats of a normalisation, of a division alone, of another normalisation, of no formula, and of
 * normalisations of products and of bytes. */
static float tables[6][4 * 256];
static _Alignas(64) float wanted[OUT_SIDE * OUT_SIDE * 4];
static _Alignas(64) float got[OUT_SIDE * OUT_SIDE * 4];
static uint64_t state = 1, digest = UINT64_C(0xcbf29ce484222325);

static uint32_t below(uint32_t limit)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 33) % limit;
}

static void fail(const char *what, const char *kernels, unsigned number)
{
    fprintf(stderr, "kernels: %s: %s differs from c in case %u\n", what, kernels, number);
    exit(1);
}

static void set_up(void)
{
    for (size_t i = 0; i < KINDS; i++) {
        setenv("STOKER_SIMD", names[i], 1);
        if (strcmp(stk_decode_simd(), names[i]) == 0) {
            decoders[i] = stk_decoder_new();
        }
    }
    for (size_t i = 0; i < sizeof pixels; i++) {
        pixels[i] = (uint8_t)(below(3) ? below(256) : below(2) * 255);
    }
    for (size_t i = 0; i < 4; i++) {
        float mean = 0.4f + 0.02f * (float)i, std = 0.22f, half = 0.5f;
        stk_decode_table(tables[0] + 256 * i, &mean, &std);
        stk_decode_table(tables[1] + 256 * i, NULL, NULL);
        stk_decode_table(tables[2] + 256 * i, &half, &half);
        stk_decode_table(tables[3] + 256 * i, &mean, &std);
        tables[3][256 * i + below(256)] += 1;
        for (size_t byte = 0; byte < 256; byte++) {
            tables[4][256 * i + byte] = ((float)byte * (float)(1.0 / 255) - mean) / std;
            tables[5][256 * i + byte] = ((float)byte - 255 * mean) / (255 * std);
        }
    }
}

/* Sorted, so that the first is not above the second. */
static void two_below(uint32_t limit, float *first, float *second)
{
    float a = (float)below(limit * 16 + 1) / 16, b = (float)below(limit * 16 + 1) / 16;
    *first = a < b ? a : b;
    *second = a < b ? b : a;
}

static struct stk_plan random_plan(uint32_t width, uint32_t height)
{
    struct stk_plan plan = {.table = tables[below(6)]};
    plan.crop[0] = (int32_t)below(width);
    plan.crop[1] = (int32_t)below(height);
    plan.crop[2] = plan.crop[0] + 1 + (int32_t)below(width - (uint32_t)plan.crop[0]);
    plan.crop[3] = plan.crop[1] + 1 + (int32_t)below(height - (uint32_t)plan.crop[1]);
    uint32_t inner[2] = {(uint32_t)(plan.crop[2] - plan.crop[0]),
                         (uint32_t)(plan.crop[3] - plan.crop[1])};
    plan.box[2] = (float)inner[0];
    plan.box[3] = (float)inner[1];
    plan.width = inner[0];
    plan.height = inner[1];
    if (below(8)) {
        plan.width = 1 + below(OUT_SIDE);
        plan.height = 1 + below(OUT_SIDE);
    }
    if (below(4) == 0) {
        two_below(inner[0], &plan.box[0], &plan.box[2]);
        two_below(inner[1], &plan.box[1], &plan.box[3]);
    }
    plan.filter = (enum stk_filter)below(6);
    plan.resizer = (enum stk_resizer)below(4);
    plan.flip = below(4);
    plan.channels = 3 + below(2);
    plan.layout = (enum stk_layout)below(2);
    plan.type = (enum stk_type)below(2);
    if (below(7) == 0) {
        plan.filter = STK_FILTER_BILINEAR_FLOATS;
        plan.channels = 3;
        memcpy(plan.box, (float[4]){0, 0, (float)inner[0], (float)inner[1]}, sizeof plan.box);
    }
    return plan;
}

static struct stk_target target_of(const struct stk_plan *plan, void *data)
{
    size_t sample = plan->type == STK_TYPE_F32 ? sizeof(float) : 1;
    size_t row = plan->width * sample * (plan->layout == STK_LAYOUT_CHW ? 1 : plan->channels);
    size_t bytes = (size_t)plan->width * plan->height * plan->channels * sample;
    return (struct stk_target){
        .data = data, .row_bytes = row, .plane_bytes = row * plan->height, .bytes = bytes};
}

static void add_to_digest(const void *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        digest = (digest ^ ((const uint8_t *)data)[i]) * UINT64_C(0x100000001b3);
    }
}

/* The source of a decode: an image, a file, or a form. */
struct source {
    const struct stk_image *image;
    const void *file, *form;
    size_t size;
};

static int run(struct stk_decoder *decoder, const struct source *source,
               const struct stk_plan *plan, const struct stk_target *target)
{
    if (source->image) {
        return stk_transform(decoder, source->image, plan, target);
    }
    return source->form ? stk_decode_form(decoder, source->form, source->size, plan, target)
                        : stk_decode(decoder, source->file, source->size, plan, target);
}

/* One plan by all kernels. */
static void run_case(unsigned number, const struct source *source, const struct stk_plan *plan)
{
    for (size_t i = 0; i < KINDS; i++) {
        struct stk_target target = target_of(plan, i ? got : wanted);
        target.streamed = i > 0 && number % 2;
        memset(target.data, 0x5a, sizeof got);
        if (!decoders[i]) {
            continue;
        }
        int result = run(decoders[i], source, plan, &target);
        if (result != STK_DECODE_OK ||
            (i > 0 && memcmp((const void *)got, (const void *)wanted, sizeof got) != 0)) {
            fail(source->image ? "image" : source->form ? "form" : "file", names[i], number);
        }
    }
    add_to_digest(wanted, target_of(plan, wanted).bytes);
}

static void run_images(unsigned cases)
{
    for (unsigned i = 0; i < cases; i++) {
        uint32_t channels = below(4) ? 3 + below(2) : 1, width = 1 + below(SIDE),
                 height = 1 + below(SIDE);
        struct stk_image image = {
            .data = pixels, .width = width, .height = height, .channels = channels};
        image.row_bytes = (size_t)width * channels;
        image.unused = channels == 4 && below(2);
        struct stk_plan plan = random_plan(width, height);
        if (channels == 1) {
            plan.channels = 1;
            plan.filter %= STK_FILTER_BILINEAR_FLOATS; /* which is for three */
        }
        run_case(i, &(struct source){.image = &image}, &plan);
    }
}

/* By all kernels, which have to agree. */
static struct source make_form(const struct source *file, const struct stk_jpeg_info *info)
{
    static uint8_t bytes[1 << 16];
    struct source source = {.form = bytes};
    struct stk_plan plan = random_plan(info->width, info->height);
    for (size_t i = 0; i < KINDS; i++) {
        struct stk_target target = target_of(&plan, got);
        struct stk_form form = {NULL, 0};
        if (!decoders[i]) {
            continue;
        }
        stk_decode_keep(decoders[i], file->file, file->size, &plan, &target, &form);
        if (form.bytes == 0 || form.bytes > sizeof bytes ||
            (i > 0 && (form.bytes != source.size || memcmp(bytes, form.data, form.bytes) != 0))) {
            fail("form of", names[i], 0);
        }
        memcpy(bytes, form.data, form.bytes);
        source.size = form.bytes;
    }
    add_to_digest(bytes, source.size);
    return source;
}

static void run_file(const char *path)
{
    static uint8_t bytes[1 << 16];
    FILE *stream = fopen(path, "rb");
    size_t length = stream ? fread(bytes, 1, sizeof bytes, stream) : 0;
    struct stk_jpeg_info info;
    if (!stream || length <= PLAN_BYTES ||
        stk_decode_examine(decoders[0], bytes + PLAN_BYTES, length - PLAN_BYTES, &info) != 0) {
        fail("cannot read", path, 0);
    }
    fclose(stream);
    struct source of_file = {.file = bytes + PLAN_BYTES, .size = length - PLAN_BYTES};
    struct source of_form = make_form(&of_file, &info);
    for (unsigned i = 0; i < 20; i++) {
        struct stk_plan plan = random_plan(info.width, info.height);
        plan.end = i % 2 ? info.end : 0;
        run_case(i, &of_file, &plan);
        run_case(i, &of_form, &plan);
    }
}

int main(int argc, char **argv)
{
    unsigned cases = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
    set_up();
    run_images(cases);
    for (int i = 2; i < argc; i++) {
        run_file(argv[i]);
    }
    for (size_t i = 0; i < KINDS; i++) {
        fprintf(stderr, "%s%s", decoders[i] ? names[i] : "", decoders[i] ? " " : "");
        stk_decoder_free(decoders[i]);
    }
    fprintf(stderr, "agree\n");
    printf("%016llx\n", (unsigned long long)digest);
    return 0;
}
