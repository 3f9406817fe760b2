/*
 * Our own inverse DCT, upsampling and colours against libjpeg-turbo's own functions:
 *
 *     stages BLOCKS WIDTHS
 *
 * It compares the inverse DCT over BLOCKS times four random blocks, wild ones too, and the colours
 * over all there are. Then it decodes whole images of noise, of all widths up to WIDTHS and every
 * sampling. It does so by libjpeg alone and by decode/, of which both stages must have had a part.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode/decode.h"
#include "decode/decoder.h"
#include "decode/common/zigzag.h"
#include "decode/stages/units.h"

#define LINE 4096
#define SIDE 256

static const char *const names[] = {"c", "avx2", "vnni", "avx512", "neon"};
#define KINDS (sizeof names / sizeof *names)
static const struct stk_kernels *kernels; /* that are tested */
static uint64_t state = 1;

static uint32_t below(uint32_t limit)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 33) % limit;
}

static void fail(const char *what, unsigned number)
{
    fprintf(stderr, "stages: %s: %s, case %u\n", kernels->name, what, number);
    exit(1);
}

/* ---- libjpeg ---- */

struct photo {
    unsigned char *bytes;
    unsigned long size;
    unsigned width, height;
};

/* Other factors than those it was made with: coefficients that overflow everywhere. */
static void spoil(struct photo *photo)
{
    unsigned char *at = photo->bytes, *end = at + photo->size;
    while ((at = memmem(at, (size_t)(end - at), "\xff\xdb", 2)) != NULL) {
        at += 5; /* the marker, the length, the number */
        for (unsigned i = 0; i < 64; i++) {
            *at++ = (uint8_t)(1 + below(255));
        }
    }
}

/* Noise: of most qualities also what no camera makes. Without factors of chroma it is grey. */
static struct photo make_photo(unsigned width, unsigned height, const int factors[4], int quality)
{
    struct jpeg_compress_struct cinfo;
    struct jpeg_error_mgr errors;
    struct photo photo = {.width = width, .height = height};
    static uint8_t line[3 * SIDE];
    JSAMPROW rows[1] = {line};
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_compress(&cinfo);
    jpeg_mem_dest(&cinfo, &photo.bytes, &photo.size);
    cinfo.image_width = width;
    cinfo.image_height = height;
    cinfo.input_components = factors[2] ? 3 : 1;
    cinfo.in_color_space = factors[2] ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_set_defaults(&cinfo);
    jpeg_set_quality(&cinfo, quality, TRUE);
    for (int c = 0; c < cinfo.input_components; c++) {
        cinfo.comp_info[c].h_samp_factor = factors[c ? 2 : 0];
        cinfo.comp_info[c].v_samp_factor = factors[c ? 3 : 1];
    }
    cinfo.restart_interval = below(3) ? 0 : 1 + below(7);
    jpeg_start_compress(&cinfo, TRUE);
    for (unsigned y = 0; y < height; y++) {
        for (unsigned i = 0; i < 3 * width; i++) {
            line[i] = (uint8_t)(below(2) ? below(256) : below(2) * 255);
        }
        jpeg_write_scanlines(&cinfo, rows, 1);
    }
    jpeg_finish_compress(&cinfo);
    jpeg_destroy_compress(&cinfo);
    return photo;
}

/* Ready for the first line. */
static void open_photo(struct jpeg_decompress_struct *cinfo, struct jpeg_error_mgr *errors,
                       const struct photo *photo, J_COLOR_SPACE colours)
{
    cinfo->err = jpeg_std_error(errors);
    jpeg_create_decompress(cinfo);
    jpeg_mem_src(cinfo, photo->bytes, photo->size);
    jpeg_read_header(cinfo, TRUE);
    cinfo->out_color_space = colours;
    jpeg_start_decompress(cinfo);
}

/* ---- the inverse DCT ---- */

static unsigned declined;

static int16_t random_coefficient(unsigned kind)
{
    switch (kind) {
    case 0:
        return (int16_t)((int)below(5) - 2);
    case 1:
        return (int16_t)((int)below(255) - 127);
    case 2:
        return (int16_t)((int)below(2001) - 1000);
    case 3:
        return (int16_t)(below(2) ? 32767 : -32768);
    default:
        return (int16_t)below(65536);
    }
}

static void random_block(int16_t block[64])
{
    unsigned kind = below(5), density = 1 + below(8), last = 1 + below(64);
    memset(block, 0, 64 * sizeof *block);
    block[0] = random_coefficient(below(5));
    for (unsigned i = 1; i < last && below(6); i++) {
        if (below(density) == 0) {
            block[stk_zigzag[i]] = random_coefficient(kind);
        }
    }
    if (below(50) == 0) {
        for (unsigned i = 1; i < 64; i++) {
            block[i] = random_coefficient(kind);
        }
    }
}

/* Brings the first line to where our own kernel does not decline: all others may be anything. */
static void tame_block(int16_t block[64], const uint16_t factors[64])
{
    for (unsigned i = 0; i < 8; i++) {
        int factor = abs((int16_t)factors[i]);
        block[i] = (int16_t)(block[i] % (8191 / (factor ? factor : 1) + 1));
    }
}

/* A block as the coefficients have it; the first of `values` is DC, if it has its place there. */
static void put_block(struct stk_quad *quad, unsigned b, const int16_t block[64], int8_t values[64])
{
    unsigned count = 0;
    quad->masks[b] = 0;
    quad->values[b] = values;
    quad->dc[b] = block[0];
    for (unsigned i = 0; i < 64; i++) {
        unsigned place = stk_zigzag[i];
        if (block[place] == 0 || (i == 0 && below(2))) {
            continue;
        }
        quad->masks[b] |= UINT64_C(1) << i;
        values[count] = (int8_t)(abs(block[place]) > 127 ? (int)below(256) - 128 : block[place]);
        if (i > 0 && values[count] != block[place]) {
            if (!quad->has_rest) {
                memset(quad->rest, 0, sizeof quad->rest);
                quad->has_rest = true;
            }
            quad->rest[place / 8][8 * b + place % 8] = (int16_t)(block[place] - values[count]);
        }
        count++;
    }
}

static uint16_t random_factor(unsigned kind)
{
    switch (kind) {
    case 0:
        return 1;
    case 1:
        return (uint16_t)(1 + below(20));
    case 2:
        return (uint16_t)(1 + below(255));
    default:
        return (uint16_t)(below(2) ? 65535 : below(65536));
    }
}

/* Compares the blocks: those outside the call are as they were, and all others are libjpeg's. */
static void compare_blocks(struct jpeg_decompress_struct *cinfo, unsigned number)
{
    static uint8_t wanted[8][64], got[8][64];
    static _Alignas(64) int16_t block[4][64];
    static int8_t values[4][64 + STK_VALUE_SLACK];
    jpeg_component_info *component = &cinfo->comp_info[0];
    int16_t *factors = component->dct_table;
    struct stk_quad quad = {.has_rest = false};
    uint8_t *wanted_rows[8], *got_rows[8];
    unsigned count = 1 + below(4), at = below(33), kind = below(4);
    uint16_t unsigned_factors[64];
    for (unsigned i = 0; i < 64; i++) {
        unsigned_factors[i] = random_factor(kind);
        factors[i] = (int16_t)unsigned_factors[i];
    }
    for (unsigned i = 0; i < 8; i++) {
        wanted_rows[i] = wanted[i];
        got_rows[i] = got[i];
        memset(wanted[i], 0x5a, sizeof wanted[i]);
        memset(got[i], 0x5a, sizeof got[i]);
    }
    bool tame = below(8) > 0;
    for (unsigned b = 0; b < 4; b++) {
        b < count ? random_block(block[b]) : (void)memset(block[b], 0, sizeof block[b]);
        tame ? tame_block(block[b], unsigned_factors) : (void)0;
        put_block(&quad, b, block[b], values[b]);
    }
    for (unsigned b = 0; b < count; b++) {
        cinfo->idct->inverse_DCT[0](cinfo, component, block[b], wanted_rows, at + 8 * b);
    }
    bool done = kernels->idct(got_rows, at, count, &quad, unsigned_factors);
    declined += !done;
    if (!done && tame) {
        fail("the inverse DCT declines", number);
    }
    if (done && memcmp(got, wanted, sizeof got) != 0) {
        fail("the inverse DCT differs", number);
    }
}

static void test_blocks(unsigned cases)
{
    const int factors[4] = {1, 1, 1, 1};
    struct photo photo = make_photo(8, 8, factors, 50);
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    open_photo(&cinfo, &errors, &photo, JCS_EXT_RGB);
    for (unsigned i = 0; i < cases; i++) {
        compare_blocks(&cinfo, i);
    }
    jpeg_destroy_decompress(&cinfo);
    free(photo.bytes);
}

/* ---- colours ---- */

static void compare_line(struct jpeg_decompress_struct *cinfo, uint8_t *samples[3], unsigned number)
{
    static uint8_t wanted[4 * LINE], got[4 * LINE];
    JSAMPROW out[1] = {wanted};
    JSAMPARRAY planes[3] = {&samples[0], &samples[1], &samples[2]};
    struct stk_line line = {
        .luma = samples[0],
        .chroma = {samples[1], samples[2]},
        .other = {samples[1], samples[2]},
        .pixels = LINE,
        .bytes = (unsigned)cinfo->out_color_components,
        .blue_first = cinfo->out_color_space == JCS_EXT_BGR,
    };
    cinfo->cconvert->color_convert(cinfo, planes, 0, out, 1);
    kernels->colour(got, &line);
    if (memcmp(wanted, got, (size_t)line.bytes * LINE) != 0) {
        fail("colours differ", number);
    }
}

/* All colours there are. */
static void test_colours(J_COLOR_SPACE colours)
{
    const int factors[4] = {1, 1, 1, 1};
    static uint8_t planes[3][LINE];
    uint8_t *samples[3] = {planes[0], planes[1], planes[2]};
    struct photo photo = make_photo(8, 8, factors, 50);
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    open_photo(&cinfo, &errors, &photo, colours);
    cinfo.output_width = LINE;
    for (unsigned i = 0; i < 1u << 24; i += LINE) {
        for (unsigned p = 0; p < LINE; p++) {
            planes[0][p] = (uint8_t)(i + p);
            planes[1][p] = (uint8_t)((i + p) >> 8);
            planes[2][p] = (uint8_t)((i + p) >> 16);
        }
        compare_line(&cinfo, samples, i);
    }
    jpeg_destroy_decompress(&cinfo);
    free(photo.bytes);
}

/* ---- images ---- */

static unsigned transformed, coloured, left_to_libjpeg;

static bool counted_idct(uint8_t *const *rows, size_t at, unsigned count,
                         const struct stk_quad *blocks, const uint16_t factors[64])
{
    bool done = kernels->idct(rows, at, count, blocks, factors);
    transformed++;
    left_to_libjpeg += !done;
    return done;
}

static void counted_colour(uint8_t *out, const struct stk_line *line)
{
    coloured++;
    kernels->colour(out, line);
}

static uint8_t wanted[SIDE][4 * SIDE], got[SIDE][4 * SIDE];

static void decode_by_libjpeg(const struct photo *photo, unsigned channels)
{
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    open_photo(&cinfo, &errors, photo, channels == 3 ? JCS_EXT_RGB : JCS_EXT_RGBX);
    while (cinfo.output_scanline < cinfo.output_height) {
        JSAMPROW rows[1] = {wanted[cinfo.output_scanline]};
        jpeg_read_scanlines(&cinfo, rows, 1);
    }
    jpeg_destroy_decompress(&cinfo);
}

/* A region by decode/: nothing behind it, or behind a row, may change. */
static void compare_region(struct stk_decoder *decoder, const struct photo *photo,
                           unsigned channels, const unsigned region[4], unsigned number)
{
    unsigned width = region[2] - region[0], height = region[3] - region[1];
    struct stk_plan plan = {
        .crop = {(int32_t)region[0], (int32_t)region[1], (int32_t)region[2], (int32_t)region[3]},
        .box = {0, 0, (float)width, (float)height},
        .width = width,
        .height = height,
        .channels = channels,
    };
    struct stk_target target = {
        .data = got, .row_bytes = sizeof got[0], .bytes = sizeof got[0] * height};
    memset(got, 0x5a, sizeof got);
    if (stk_decode(decoder, photo->bytes, photo->size, &plan, &target) != STK_DECODE_OK) {
        fail("an image is refused", number);
    }
    for (unsigned y = 0; y < SIDE; y++) {
        size_t bytes = y < height ? (size_t)channels * width : 0;
        const uint8_t *row = wanted[(region[1] + y) % SIDE] + (size_t)channels * region[0];
        if (memcmp(got[y], row, bytes) != 0) {
            fail("an image differs", number);
        }
        for (size_t i = bytes; i < sizeof got[y]; i++) {
            if (got[y][i] != 0x5a) {
                fail("written behind a row", number);
            }
        }
    }
}

static void compare_images(struct stk_decoder *decoder, const struct photo *photo,
                           unsigned channels, unsigned number)
{
    unsigned left = below(photo->width), top = below(photo->height);
    const unsigned whole[4] = {0, 0, photo->width, photo->height};
    const unsigned part[4] = {left, top, left + 1 + below(photo->width - left),
                              top + 1 + below(photo->height - top)};
    decode_by_libjpeg(photo, channels);
    compare_region(decoder, photo, channels, part, number);
    transformed = coloured = 0;
    compare_region(decoder, photo, channels, whole, number);
}

/* Factors of luma and chroma, and which of our own stages know them. */
static const struct {
    int factors[4];
    bool idct, colour;
} samplings[] = {
    {{1, 1, 1, 1}, true, true},  {{2, 1, 1, 1}, true, true},  {{2, 2, 1, 1}, true, true},
    {{1, 2, 1, 1}, true, false}, {{4, 1, 1, 1}, true, false}, {{4, 1, 2, 1}, true, true},
    {{2, 2, 1, 2}, true, true},  {{2, 2, 2, 1}, true, false}, {{1, 2, 1, 2}, true, true},
    {{1, 4, 1, 2}, true, false}, {{3, 1, 1, 1}, true, false}, {{3, 2, 1, 1}, true, false},
    {{1, 1, 0, 0}, true, false}, {{2, 1, 0, 0}, true, false}, {{2, 2, 0, 0}, false, false},
};

static void test_images(unsigned widths)
{
    struct stk_decoder *decoder = stk_decoder_new();
    struct stk_kernels counted = *kernels;
    counted.idct = kernels->idct ? counted_idct : NULL;
    counted.colour = kernels->colour ? counted_colour : NULL;
    decoder->workspace.kernels = &counted;
    for (unsigned width = 1; width <= widths; width++) {
        for (unsigned s = 0; s < sizeof samplings / sizeof *samplings; s++) {
            int quality = below(3) ? 1 + (int)below(100) : 100;
            struct photo photo = make_photo(width, 1 + below(40), samplings[s].factors, quality);
            if (below(4) == 0) {
                spoil(&photo);
            }
            compare_images(decoder, &photo, 3 + below(2), 100 * width + s);
            if ((counted.idct && samplings[s].idct != (transformed > 0)) ||
                (counted.colour && width > 4 && samplings[s].colour != (coloured > 0))) {
                fail("the stages are not ours", 100 * width + s);
            }
            free(photo.bytes);
        }
    }
    stk_decoder_free(decoder);
    if (counted.idct && !left_to_libjpeg) {
        fail("no image overflows", 0);
    }
    left_to_libjpeg = 0;
}

int main(int argc, char **argv)
{
    unsigned blocks = argc > 1 ? (unsigned)atoi(argv[1]) : 10000;
    unsigned widths = argc > 2 ? (unsigned)atoi(argv[2]) : 140;
    for (size_t i = 0; i < KINDS; i++) {
        setenv("STOKER_SIMD", names[i], 1);
        kernels = stk_kernels_select();
        if (strcmp(kernels->name, names[i]) != 0) {
            continue;
        }
        if (kernels->idct) {
            test_blocks(blocks);
        }
        if (kernels->colour) {
            test_colours(JCS_EXT_RGB);
            test_colours(JCS_EXT_BGR);
            test_colours(JCS_EXT_RGBX);
        }
        test_images(widths);
        fprintf(stderr, "%s:%s%s as libjpeg's (%u of %u times four blocks left to it)\n", names[i],
                kernels->idct ? " inverse DCT" : "", kernels->colour ? " colours" : "", declined,
                kernels->idct ? blocks : 0);
        declined = 0;
    }
    return 0;
}
