/*
 * PNGs' image data: rows with filters, in a stream of a stored block, whole or damaged.
 * Whole data must give the rows that the standard's own formulas give. Damaged data must be
 * refused, or decoded, without harm.
 */
#include "decode/png/png.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

#define MOST 40 /* pixels in each direction */
#define ROOM (1 << 16)

struct image {
    uint32_t width, height, pixel_bytes;
    size_t line; /* bytes of a row, without its filter */
    uint8_t rows[MOST * (1 + MOST * 4)];
};

static size_t decoded, refused;

bool fuzz_report(void)
{
    printf("png: %zu decoded, %zu refused\n", decoded, refused);
    return decoded == 0 || refused > decoded / 100; /* none are without libdeflate */
}

static void make_image(struct image *image, struct fuzz_input *input)
{
    static const uint32_t sizes[] = {1, 3, 4};
    image->pixel_bytes = sizes[fuzz_pick(input, 3)];
    image->width = 1 + fuzz_pick(input, MOST);
    image->height = 1 + fuzz_pick(input, MOST);
    image->line = (size_t)image->width * image->pixel_bytes;
    uint64_t state = fuzz_take(input, 8);
    for (size_t i = 0; i < (1 + image->line) * image->height; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        bool is_filter = i % (1 + image->line) == 0;
        image->rows[i] = (uint8_t)((state >> 33) % (is_filter ? 5 : 256));
    }
}

/* ---- a stream ---- */

static uint8_t *put(uint8_t *at, uint32_t value, unsigned bytes)
{
    while (bytes-- > 0) {
        *at++ = (uint8_t)(value >> 8 * bytes);
    }
    return at;
}

static uint32_t adler(const uint8_t *data, size_t bytes)
{
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < bytes; i++) {
        a = (a + data[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

/* One stored block. Returns the stream's bytes. */
static size_t make_stream(const struct image *image, uint8_t *out)
{
    size_t bytes = (1 + image->line) * image->height;
    uint32_t low = (uint32_t)(bytes & 255), high = (uint32_t)(bytes >> 8);
    uint8_t *at = put(out, 0x780101, 3);
    at = put(at, low << 24 | high << 16 | (~low & 255) << 8 | (~high & 255), 4);
    memcpy(at, image->rows, bytes);
    return (size_t)(put(at + bytes, adler(image->rows, bytes), 4) - out);
}

/* Changes up to three bytes. Returns how many. */
static uint32_t damage(struct fuzz_input *input, uint8_t *stream, size_t size)
{
    uint32_t damages = fuzz_pick(input, 4);
    for (uint32_t i = 0; i < damages; i++) {
        stream[fuzz_pick(input, (uint32_t)size)] ^= (uint8_t)fuzz_take(input, 1);
    }
    return damages;
}

/* ---- the standard's formulas ---- */

static int paeth(int a, int b, int c)
{
    int p = a + b - c, pa = abs(p - a), pb = abs(p - b), pc = abs(p - c);
    return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

static int guess(int filter, int a, int b, int c)
{
    const int guesses[] = {0, a, b, (a + b) / 2, paeth(a, b, c)};
    return guesses[filter];
}

static void make_expected(const struct image *image, uint8_t *out)
{
    size_t step = image->pixel_bytes, line = image->line;
    for (size_t y = 0; y < image->height; y++) {
        const uint8_t *in = image->rows + y * (1 + line);
        for (size_t i = 0; i < line; i++) {
            uint8_t *to = out + y * line + i;
            int a = i >= step ? to[-(ptrdiff_t)step] : 0, b = y > 0 ? to[-(ptrdiff_t)line] : 0;
            int c = i >= step && y > 0 ? to[-(ptrdiff_t)(line + step)] : 0;
            *to = (uint8_t)(in[1 + i] + guess(in[0], a, b, c));
        }
    }
}

static void compare(const struct image *image, uint8_t *const *rows)
{
    static uint8_t expected[MOST * MOST * 4];
    make_expected(image, expected);
    size_t own = image->pixel_bytes, wide = own == 1 ? 1 : 4;
    for (size_t i = 0; i < (size_t)image->width * image->height; i++) {
        const uint8_t *pixel = rows[i / image->width] + i % image->width * wide;
        if (memcmp(pixel, expected + i * own, own) != 0 || (own == 3 && pixel[3] != 255)) {
            fuzz_fail("pixel %zu of %u x %u x %zu differs", i, image->width, image->height, own);
        }
    }
}

/* Decodes a copy of exactly these bytes, so that a sanitizer sees what is read behind them. */
static int decode(const struct image *image, const uint8_t *stream, size_t bytes,
                  uint8_t *const *rows)
{
    struct stk_png_rows out = {rows, image->width, image->height, image->pixel_bytes};
    uint8_t *copy = malloc(bytes + !bytes);
    memcpy(copy, stream, bytes);
    int result = stk_png_decode(copy, bytes, &out);
    free(copy);
    return result;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct image image;
    static uint8_t stream[ROOM];
    struct fuzz_input input = fuzz_input(data, bytes);
    make_image(&image, &input);
    size_t size = make_stream(&image, stream);
    uint32_t damages = damage(&input, stream, size);
    size_t kept = fuzz_pick(&input, 8) ? size : fuzz_pick(&input, (uint32_t)size);
    size_t wide = image.pixel_bytes == 1 ? 1 : 4;
    uint8_t *rows[MOST];
    for (uint32_t y = 0; y < image.height; y++) {
        rows[y] = malloc(image.width * wide);
    }
    int result = decode(&image, stream, kept, rows);
    if (result == STK_DECODE_OK && damages == 0) {
        compare(&image, rows);
    }
    if (result == STK_DECODE_CORRUPT && damages == 0 && kept == size) {
        fuzz_fail("a whole image is refused");
    }
    decoded += result == STK_DECODE_OK;
    refused += result != STK_DECODE_OK;
    for (uint32_t y = 0; y < image.height; y++) {
        free(rows[y]);
    }
    return 0;
}
