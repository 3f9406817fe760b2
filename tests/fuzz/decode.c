/*
 * JPEGs and plans. What is decoded by region must be what a region of the whole image is, whichever
 * kernels are at work, and whoever decodes the entropy; what is refused must be refused without
 * harm, and what we decode, libjpeg must decode without a word.
 *
 * An input: PLAN_BYTES of plan, then the file. The corpus is small whole files; the driver changes
 * a few bytes of them.
 */
#include "decode/decode.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

#define PLAN_BYTES  32
#define CORPUS      "tests/fuzz/corpus/decode"
#define MOST_FILES  64
#define SYSTEMATIC  2000000 /* variations of the corpus: a minute of them */
#define MOST_PIXELS (1u << 20)

#define KERNELS 4
#define CURSORS 5 /* 0: as many as it likes */
static struct stk_decoder *decoders[KERNELS * CURSORS], *libjpeg;
static size_t decoded, refused;

struct file {
    uint8_t bytes[4096];
    size_t length;
};
static struct file files[MOST_FILES];
static size_t file_count;

/* ---- the corpus, for the driver ---- */

static void read_file(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, CORPUS "/%s", name);
    FILE *stream = name[0] != '.' ? fopen(path, "rb") : NULL;
    if (stream != NULL && file_count < MOST_FILES) {
        struct file *file = &files[file_count++];
        file->length = fread(file->bytes, 1, sizeof file->bytes, stream);
    }
    if (stream != NULL) {
        fclose(stream);
    }
}

static void read_corpus(void)
{
    struct dirent **list;
    int count = scandir(CORPUS, &list, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        read_file(list[i]->d_name);
        free(list[i]);
    }
    if (count >= 0) {
        free(list);
    }
}

static uint64_t mix(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* The files as they are, then with other plans and up to three other bytes each. */
size_t fuzz_systematic(size_t number, uint8_t *out, size_t room)
{
    if (number >= SYSTEMATIC || file_count == 0) {
        return 0;
    }
    const struct file *file = &files[number % file_count];
    size_t length = file->length < room ? file->length : room;
    uint64_t state = number;
    memcpy(out, file->bytes, length);
    for (size_t i = 0; i < PLAN_BYTES && number >= file_count; i++) {
        out[i] = (uint8_t)mix(&state);
    }
    for (size_t changes = number < 4 * file_count ? 0 : mix(&state) % 4; changes > 0; changes--) {
        static const uint8_t likely[] = {0, 1, 255, 0xd9, 0xda, 0xc4};
        size_t at = PLAN_BYTES + mix(&state) % (length - PLAN_BYTES);
        uint64_t dice = mix(&state);
        out[at] = dice % 3 ? (uint8_t)(dice >> 8) : likely[(dice >> 8) % sizeof likely];
    }
    return length;
}

/* Most changes leave a file that decodes, or the target sees nothing. */
bool fuzz_report(void)
{
    printf("decode: %zu decoded, %zu refused\n", decoded, refused);
    return file_count == 0 || decoded > refused / 20;
}

/* ---- plans ---- */

static int32_t pick_below(struct fuzz_input *input, uint32_t limit)
{
    return (int32_t)fuzz_pick(input, limit > 0 ? limit : 1);
}

static float pick_part(struct fuzz_input *input, float from, float to)
{
    return from + (to - from) * (float)fuzz_take(input, 1) / 255.0f;
}

/* Mostly sound plans for an image of that size. */
static struct stk_plan pick_plan(struct fuzz_input *input, const struct stk_jpeg_info *info,
                                 const float *table)
{
    struct stk_plan plan = {.table = table};
    uint32_t shape = fuzz_pick(input, 16);
    plan.crop[0] = pick_below(input, info->width);
    plan.crop[1] = pick_below(input, info->height);
    plan.crop[2] = plan.crop[0] + 1 + pick_below(input, info->width - (uint32_t)plan.crop[0]);
    plan.crop[3] = plan.crop[1] + 1 + pick_below(input, info->height - (uint32_t)plan.crop[1]);
    float width = (float)(plan.crop[2] - plan.crop[0]),
          height = (float)(plan.crop[3] - plan.crop[1]);
    plan.box[2] = width;
    plan.box[3] = height;
    if (shape < 4) {
        plan.box[0] = pick_part(input, 0, width);
        plan.box[1] = pick_part(input, 0, height);
        plan.box[2] = pick_part(input, plan.box[0], width);
        plan.box[3] = pick_part(input, plan.box[1], height);
    }
    plan.width = shape < 8 ? 1 + fuzz_pick(input, 64) : (uint32_t)width;
    plan.height = shape < 8 ? 1 + fuzz_pick(input, 64) : (uint32_t)height;
    plan.filter = (enum stk_filter)fuzz_pick(input, 7);
    plan.order = (enum stk_pass_order)fuzz_pick(input, 3);
    plan.flip = fuzz_pick(input, 4);
    plan.channels = 1 + fuzz_pick(input, 4);
    plan.layout = (enum stk_layout)fuzz_pick(input, 2);
    plan.type = (enum stk_type)fuzz_pick(input, 2);
    return plan;
}

/* ---- runs ---- */

struct output {
    struct stk_target target;
    size_t bytes;
};

/* Exactly as much memory as the plan writes: one byte more is seen. */
static struct output make_output(const struct stk_plan *plan)
{
    size_t sample = plan->type == STK_TYPE_F32 ? sizeof(float) : 1;
    size_t row = plan->width * sample * (plan->layout == STK_LAYOUT_CHW ? 1 : plan->channels);
    size_t bytes = (size_t)plan->width * plan->height * plan->channels * sample;
    struct output output = {.bytes = bytes};
    output.target = (struct stk_target){calloc(1, bytes), row, row * plan->height, bytes};
    return output;
}

/* The whole image, and then the plan on it, by other kernels than those that decoded by region. */
static void compare(struct stk_decoder *decoder, const uint8_t *bytes, size_t size,
                    const struct stk_jpeg_info *info, const struct stk_plan *plan,
                    const struct output *got)
{
    struct stk_plan whole = {.crop = {0, 0, (int32_t)info->width, (int32_t)info->height},
                             .width = info->width,
                             .height = info->height,
                             .box = {0, 0, (float)info->width, (float)info->height},
                             .channels = plan->channels == 1 ? 1 : 3};
    struct output all = make_output(&whole), wanted = make_output(plan);
    if (stk_decode(decoder, bytes, size, &whole, &all.target) == STK_DECODE_OK) {
        struct stk_image image = {.data = all.target.data,
                                  .width = info->width,
                                  .height = info->height,
                                  .channels = whole.channels,
                                  .row_bytes = all.target.row_bytes};
        int result = stk_transform(decoder, &image, plan, &wanted.target);
        if (result != STK_DECODE_OK) {
            fuzz_fail("decoded, but the transform says %d", result);
        }
        if (memcmp(got->target.data, wanted.target.data, got->bytes) != 0) {
            fuzz_fail("the region differs from the whole image's");
        }
    }
    free(all.target.data);
    free(wanted.target.data);
}

/* It looks at the environment when it is made and when it gets its first file. */
static struct stk_decoder *make_decoder(void)
{
    struct stk_jpeg_info info;
    struct stk_decoder *decoder = stk_decoder_new();
    stk_decode_probe(decoder, "", 0, &info);
    return decoder;
}

/* What our own entropy decoder takes is what libjpeg takes without a warning. */
static void compare_with_libjpeg(const uint8_t *bytes, size_t size, const struct stk_plan *plan,
                                 int result, const struct output *got)
{
    struct output wanted = make_output(plan);
    int expected = stk_decode(libjpeg, bytes, size, plan, &wanted.target);
    if (result != expected) {
        fuzz_fail("%d where libjpeg says %d", result, expected);
    }
    if (result == STK_DECODE_OK && memcmp(got->target.data, wanted.target.data, got->bytes) != 0) {
        fuzz_fail("not the pixels that libjpeg's own entropy decoder leads to");
    }
    free(wanted.target.data);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const char *const kernels[] = {"c", "avx2", "avx512", "neon"};
    (void)argc;
    (void)argv;
    for (size_t i = 0; i < KERNELS * CURSORS; i++) {
        const char cursors[] = {(char)('0' + i / KERNELS), 0};
        setenv("STOKER_SIMD", kernels[i % KERNELS], 1);
        setenv("STOKER_CURSORS", cursors, 1);
        decoders[i] = make_decoder();
    }
    setenv("STOKER_ENTROPY", "libjpeg", 1);
    libjpeg = make_decoder();
    read_corpus();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static float table[4 * 256];
    struct stk_jpeg_info info = {0};
    struct fuzz_input input = fuzz_input(data, bytes < PLAN_BYTES ? bytes : PLAN_BYTES);
    size_t size = bytes - (size_t)(input.end - data);
    struct stk_decoder *decoder = decoders[fuzz_pick(&input, KERNELS * CURSORS)];
    struct stk_decoder *other = decoders[fuzz_pick(&input, KERNELS * CURSORS)];
    /* A copy of its own: one byte read behind it is seen. */
    uint8_t *file = malloc(size > 0 ? size : 1);
    memcpy(file, data + (bytes - size), size);
    int probed = stk_decode_probe(decoder, file, size, &info);
    struct stk_plan plan = pick_plan(&input, &info, table);
    if (plan.width > 4096 || plan.height > 4096) {
        plan.width = plan.height = 16;
    }
    struct output output = make_output(&plan);
    int result = stk_decode(decoder, file, size, &plan, &output.target);
    if (result == STK_DECODE_OK && (probed != STK_DECODE_OK || info.end == 0)) {
        fuzz_fail("decoded although the probe says %d", probed);
    }
    compare_with_libjpeg(file, size, &plan, result, &output);
    if (result == STK_DECODE_OK && (uint64_t)info.width * info.height <= MOST_PIXELS) {
        compare(other, file, size, &info, &plan, &output);
    }
    decoded += result == STK_DECODE_OK;
    refused += result != STK_DECODE_OK;
    free(output.target.data);
    free(file);
    return 0;
}
