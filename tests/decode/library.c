/* The decoder as a shared library, for tests that call it from Python (tests/decode/decoder.py). */
#include "decode/decode.h"
#include "decode/decoder.h"
#include "decode/jpeg/jpeg.h"
#include "decode/resize/emit.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT struct stk_decoder *test_new(void);
EXPORT void test_free(struct stk_decoder *decoder);
EXPORT int test_examine(struct stk_decoder *decoder, const void *bytes, size_t size,
                        struct stk_jpeg_info *out);
EXPORT int test_decode(struct stk_decoder *decoder, const void *bytes, size_t size,
                       const struct stk_plan *plan, const struct stk_target *target);
EXPORT int test_keep(struct stk_decoder *decoder, const void *bytes, size_t size,
                     const struct stk_plan *plan, const struct stk_target *target,
                     struct stk_form *out);
EXPORT int test_form(struct stk_decoder *decoder, const void *data, size_t bytes,
                     const struct stk_plan *plan, const struct stk_target *target);
EXPORT int test_examine_form(const void *data, size_t bytes, struct stk_form_source *out);
EXPORT int test_transform(struct stk_decoder *decoder, const struct stk_image *image,
                          const struct stk_plan *plan, const struct stk_target *target);
EXPORT void test_table(float table[256], const float *mean, const float *std);
EXPORT bool test_is_computed(struct stk_decoder *decoder, const float table[3 * 256]);
EXPORT const char *test_simd(void);
EXPORT unsigned test_cursors(const struct stk_decoder *decoder);

struct stk_decoder *test_new(void)
{
    return stk_decoder_new();
}

void test_free(struct stk_decoder *decoder)
{
    stk_decoder_free(decoder);
}

int test_examine(struct stk_decoder *decoder, const void *bytes, size_t size,
                 struct stk_jpeg_info *out)
{
    return stk_decode_examine(decoder, bytes, size, out);
}

int test_decode(struct stk_decoder *decoder, const void *bytes, size_t size,
                const struct stk_plan *plan, const struct stk_target *target)
{
    return stk_decode(decoder, bytes, size, plan, target);
}

int test_keep(struct stk_decoder *decoder, const void *bytes, size_t size,
              const struct stk_plan *plan, const struct stk_target *target, struct stk_form *out)
{
    return stk_decode_keep(decoder, bytes, size, plan, target, out);
}

int test_form(struct stk_decoder *decoder, const void *data, size_t bytes,
              const struct stk_plan *plan, const struct stk_target *target)
{
    return stk_decode_form(decoder, data, bytes, plan, target);
}

int test_examine_form(const void *data, size_t bytes, struct stk_form_source *out)
{
    return stk_decode_examine_form(data, bytes, out);
}

int test_transform(struct stk_decoder *decoder, const struct stk_image *image,
                   const struct stk_plan *plan, const struct stk_target *target)
{
    return stk_transform(decoder, image, plan, target);
}

void test_table(float table[256], const float *mean, const float *std)
{
    stk_decode_table(table, mean, std);
}

bool test_is_computed(struct stk_decoder *decoder, const float table[3 * 256])
{
    const struct stk_tables *tables = stk_tables_get(&decoder->workspace, table);
    return tables && tables->is_scaled;
}

const char *test_simd(void)
{
    return stk_decode_simd();
}

unsigned test_cursors(const struct stk_decoder *decoder)
{
    return decoder->jpeg ? stk_jpeg_cursors(decoder->jpeg) : 0;
}
