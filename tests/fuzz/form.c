/*
 * Forms of any bytes. Nothing is read behind them. All kernels agree whether the bytes are a form,
 * and on its pixels. A region of it equals that region of the whole.
 *
 * An input: PLAN_BYTES of plan, then the form. The corpus are the forms of the JPEGs' corpus; what
 * is changed of them keeps the head's size right, or nothing would get behind it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/jpegs.h"

#define SYSTEMATIC 400000
#define KERNELS    5
#define AT_BYTES   8 /* of the form's head: its size */
#define HEAD_BYTES 64

static struct stk_decoder *decoders[KERNELS];
static struct form {
    uint8_t *bytes; /* with a plan before it */
    size_t length;
} forms[MOST_FILES];
static size_t form_count, decoded, refused;

/* ---- the corpus ---- */

static void make_form(const struct jpeg_input *jpeg)
{
    struct stk_jpeg_info info;
    struct stk_form form = {NULL, 0};
    const uint8_t *file = jpeg->bytes + PLAN_BYTES;
    size_t size = jpeg->length - PLAN_BYTES;
    stk_decode_examine(decoders[0], file, size, &info);
    struct stk_plan plan = whole_plan(&info, info.components);
    struct output output = make_output(&plan);
    if (stk_decode_keep(decoders[0], file, size, &plan, &output.target, &form) != STK_DECODE_OK ||
        form.bytes == 0) {
        fuzz_fail("a file of the corpus has no form");
    }
    struct form *kept = &forms[form_count++];
    kept->length = PLAN_BYTES + form.bytes;
    kept->bytes = calloc(1, kept->length);
    memcpy(kept->bytes + PLAN_BYTES, form.data, form.bytes);
    free(output.target.data);
}

static void set_size(uint8_t *input, size_t length)
{
    for (size_t i = 0; i < 8 && length >= PLAN_BYTES + HEAD_BYTES; i++) {
        input[PLAN_BYTES + AT_BYTES + i] = (uint8_t)((uint64_t)(length - PLAN_BYTES) >> 8 * i);
    }
}

/* The forms as they are, then with other plans and up to three other bytes each, or cut. */
size_t fuzz_systematic(size_t number, uint8_t *out, size_t room)
{
    if (number >= SYSTEMATIC || form_count == 0) {
        return 0;
    }
    const struct form *form = &forms[number % form_count];
    size_t length = form->length < room ? form->length : room;
    uint64_t state = number;
    memcpy(out, form->bytes, length);
    for (size_t i = 0; i < PLAN_BYTES && number >= form_count; i++) {
        out[i] = (uint8_t)mix(&state);
    }
    if (number >= 4 * form_count) {
        damage(&state, out, length);
        length -= mix(&state) % 16 == 0 ? mix(&state) % (length - PLAN_BYTES) : 0;
        set_size(out, length);
    }
    return length;
}

/* For libFuzzer: begins with a form, and keeps its size right. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t room) __attribute__((weak));
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t room, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t room, unsigned seed)
{
    const struct form *form = &forms[seed % form_count];
    if (bytes < PLAN_BYTES + HEAD_BYTES && form->length <= room) {
        memcpy(data, form->bytes, form->length);
        bytes = form->length;
    }
    bytes = LLVMFuzzerMutate(data, bytes, room);
    if (seed % 64 != 0) {
        set_size(data, bytes);
    }
    return bytes;
}

bool fuzz_report(void)
{
    printf("form: %zu decoded, %zu refused\n", decoded, refused);
    return form_count == 0 || decoded > refused / 20;
}

/* ---- runs ---- */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const char *const kernels[] = {"c", "avx2", "vnni", "avx512", "neon"};
    (void)argc;
    (void)argv;
    for (size_t i = 0; i < KERNELS; i++) {
        setenv("STOKER_SIMD", kernels[i], 1);
        decoders[i] = make_decoder();
    }
    read_jpegs();
    for (size_t i = 0; i < jpeg_count; i++) {
        make_form(&jpegs[i]);
    }
    return 0;
}

/* By other kernels, and out of the whole image. */
static void compare(struct stk_decoder *other, const uint8_t *form, size_t size,
                    const struct stk_jpeg_info *info, const struct stk_plan *plan, int result,
                    const struct output *got)
{
    struct output again = make_output(plan);
    int expected = stk_decode_form(other, form, size, plan, &again.target);
    if (result != expected) {
        fuzz_fail("%d where other kernels say %d", result, expected);
    }
    if (result == STK_DECODE_OK && memcmp(got->target.data, again.target.data, got->bytes) != 0) {
        fuzz_fail("other kernels make other pixels");
    }
    free(again.target.data);
    if (result != STK_DECODE_OK || (uint64_t)info->width * info->height > MOST_PIXELS) {
        return;
    }
    struct stk_plan whole = whole_plan(info, plan->channels);
    struct output all = make_output(&whole);
    if (stk_decode_form(other, form, size, &whole, &all.target) == STK_DECODE_OK) {
        compare_with_whole(other, info, plan, got, &whole, &all);
    }
    free(all.target.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static float table[4 * 256];
    struct stk_form_source source = {0};
    struct fuzz_input input = fuzz_input(data, bytes < PLAN_BYTES ? bytes : PLAN_BYTES);
    size_t size = bytes - (size_t)(input.end - data);
    struct stk_decoder *decoder = decoders[fuzz_pick(&input, KERNELS)];
    struct stk_decoder *other = decoders[fuzz_pick(&input, KERNELS)];
    /* A copy of its own, at any address: one byte read behind it is seen. */
    size_t before = fuzz_pick(&input, 16);
    uint8_t *memory = malloc(before + size > 0 ? before + size : 1), *form = memory + before;
    memcpy(form, data + (bytes - size), size);
    int examined = stk_decode_examine_form(form, size, &source);
    struct stk_plan plan = pick_plan(&input, &source.info, table);
    if (plan.width > 4096 || plan.height > 4096) {
        plan.width = plan.height = 16;
    }
    struct output output = make_output(&plan);
    int result = stk_decode_form(decoder, form, size, &plan, &output.target);
    if (examined != STK_DECODE_OK && result != examined) {
        fuzz_fail("%d although the examination says %d", result, examined);
    }
    compare(other, form, size, &source.info, &plan, result, &output);
    decoded += result == STK_DECODE_OK;
    refused += result != STK_DECODE_OK;
    free(output.target.data);
    free(memory);
    return 0;
}
