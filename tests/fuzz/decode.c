/*
 * JPEGs and plans. A decoded region must equal that region of the whole image, whichever kernels
 * and whichever entropy decoder are at work. A refused file must be refused without harm. If Stoker
 * decodes a file, libjpeg must decode it without a word.
 *
 * An input: PLAN_BYTES of plan, then the file. The corpus is small whole files; the driver changes
 * a few bytes of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/jpegs.h"

#define SYSTEMATIC 1000000 /* variations of the corpus: a minute of them */

#define KERNELS 5
#define CURSORS 5 /* 0: as many as it likes */
static struct stk_decoder *decoders[KERNELS * CURSORS], *libjpeg;
static size_t decoded, refused, formed;

/* The files as they are, then with other plans and up to three other bytes each. */
size_t fuzz_systematic(size_t number, uint8_t *out, size_t room)
{
    if (number >= SYSTEMATIC || jpeg_count == 0) {
        return 0;
    }
    const struct jpeg_input *file = &jpegs[number % jpeg_count];
    size_t length = file->length < room ? file->length : room;
    uint64_t state = number;
    memcpy(out, file->bytes, length);
    for (size_t i = 0; i < PLAN_BYTES && number >= jpeg_count; i++) {
        out[i] = (uint8_t)mix(&state);
    }
    if (number >= 4 * jpeg_count) {
        damage(&state, out, length);
    }
    return length;
}

/* Most changes leave a file that decodes, or the target sees nothing. */
bool fuzz_report(void)
{
    printf("decode: %zu decoded, %zu of these with a form, %zu refused\n", decoded, formed,
           refused);
    return jpeg_count == 0 || (decoded > refused / 20 && formed > decoded / 2);
}

/* ---- runs ---- */

/* The whole image, and then the plan on it, by other kernels than those that decoded by region. */
static void compare(struct stk_decoder *decoder, const uint8_t *bytes, size_t size,
                    const struct stk_jpeg_info *info, const struct stk_plan *plan,
                    const struct output *got)
{
    struct stk_plan whole = whole_plan(info, plan->channels);
    struct output all = make_output(&whole);
    if (stk_decode(decoder, bytes, size, &whole, &all.target) == STK_DECODE_OK) {
        compare_with_whole(decoder, info, plan, got, &whole, &all);
    }
    free(all.target.data);
}

/*
 * Making the form changes nothing, and nothing is lost in it. But of arithmetic coding damage is
 * seen that a region does not come near.
 */
static void compare_with_form(struct stk_decoder *maker, struct stk_decoder *other,
                              const uint8_t *bytes, size_t size, const struct stk_jpeg_info *info,
                              const struct stk_plan *plan, const struct output *got)
{
    struct stk_form form;
    struct output wanted = make_output(plan);
    int result = stk_decode_keep(maker, bytes, size, plan, &wanted.target, &form);
    if (result == STK_DECODE_CORRUPT && info->arithmetic) {
        free(wanted.target.data);
        return;
    }
    if (result != STK_DECODE_OK || memcmp(got->target.data, wanted.target.data, got->bytes) != 0) {
        fuzz_fail("keeping the form changes the result to %d, or the pixels", result);
    }
    if (form.bytes > 0) {
        memset(wanted.target.data, 0x5a, wanted.bytes);
        result = stk_decode_form(other, form.data, form.bytes, plan, &wanted.target);
        if (result != STK_DECODE_OK ||
            memcmp(got->target.data, wanted.target.data, got->bytes) != 0) {
            fuzz_fail("from the form: %d, or other pixels", result);
        }
        formed++;
    }
    free(wanted.target.data);
}

/* Compares with libjpeg: a file that the own entropy decoder takes, libjpeg takes without a
 * warning. */
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
    static const char *const kernels[] = {"c", "avx2", "vnni", "avx512", "neon"};
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
    read_jpegs();
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
    int examined = stk_decode_examine(decoder, file, size, &info);
    struct stk_plan plan = pick_plan(&input, &info, table);
    if (plan.width > 4096 || plan.height > 4096) {
        plan.width = plan.height = 16;
    }
    struct output output = make_output(&plan);
    int result = stk_decode(decoder, file, size, &plan, &output.target);
    if (result == STK_DECODE_OK && (examined != STK_DECODE_OK || info.end == 0)) {
        fuzz_fail("decoded although the examination says %d", examined);
    }
    compare_with_libjpeg(file, size, &plan, result, &output);
    if (result == STK_DECODE_OK && (uint64_t)info.width * info.height <= MOST_PIXELS) {
        compare(other, file, size, &info, &plan, &output);
    }
    if (result == STK_DECODE_OK && decoder != other) {
        compare_with_form(decoder, other, file, size, &info, &plan, &output);
    }
    decoded += result == STK_DECODE_OK;
    refused += result != STK_DECODE_OK;
    free(output.target.data);
    free(file);
    return 0;
}
