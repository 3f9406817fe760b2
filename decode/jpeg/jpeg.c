/*
 * Decoding by libjpeg-turbo as Pillow does it: the library's default IDCT and upsampling. Every
 * function that calls the library sets `out` first; the library's errors come back there.
 */
#include "decode/jpeg/jpeg.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

#include "decode/entropy/entropy.h"
#include "decode/entropy/scan_player.h"
#include "decode/form/form_make.h"
#include "decode/form/form_player.h"
#include "decode/common/limits.h"
#include "decode/stages/lines.h"

/* Bytes of each kind of memory for forms that stay from one image to the next: enough for a few
 * megapixels. */
#define KEPT_BYTES ((size_t)16 << 20)
/* The bits of a block in a form, at least: four for its mask, five for its DC. */
#define LEAST_BITS_OF_FORM 9
/* Columns that hold three of each component's, which may have a quarter of the image's. */
#define NARROWEST 12

struct stk_jpeg {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf out;
    const struct stk_kernels *kernels;
    struct stk_entropy *entropy;
    struct stk_units units;
    struct stk_lines lines_of_pixels;
    void (*begin_input)(j_decompress_ptr cinfo); /* libjpeg's own functions around a scan */
    void (*end_scan)(j_decompress_ptr cinfo);
    uint32_t lines;   /* that are wanted, from the first on */
    unsigned scanned; /* components that scans have had, as bits */
    bool played;      /* nothing failed, and no coefficients are libjpeg's */
    int result;       /* what the jump to `out` says */
    /* Forms: whether the file is one, whether one is wanted of it; the one that was made. */
    bool from_form, keep;
    struct stk_form_view view;
    struct stk_form_player player;
    struct stk_packer packer;
    struct stk_form form;
};

_Noreturn static void leave(j_common_ptr cinfo, int result)
{
    struct stk_jpeg *jpeg = cinfo->client_data;
    jpeg->result = result;
    jpeg->played = false;
    longjmp(jpeg->out, 1);
}

static int result_of(int message)
{
    switch (message) {
    case JERR_OUT_OF_MEMORY:
    case JERR_NO_BACKING_STORE:
        return STK_DECODE_MEMORY;
    case JERR_BAD_PRECISION:
    case JERR_SOF_UNSUPPORTED:
    case JERR_ARITH_NOTIMPL:
    case JERR_NOT_COMPILED:
    case JERR_NOTIMPL:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_COMPONENT_COUNT:
    case JERR_CCIR601_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
        return STK_DECODE_UNSUPPORTED;
    default:
        return STK_DECODE_CORRUPT;
    }
}

static void on_error(j_common_ptr cinfo)
{
    leave(cinfo, result_of(cinfo->err->msg_code));
}

/* Turns a warning into an error: pixels behind it are a guess of libjpeg, which the reference must
 * make. */
static void on_message(j_common_ptr cinfo, int level)
{
    if (level < 0) {
        leave(cinfo, STK_DECODE_CORRUPT);
    }
}

static void on_output(j_common_ptr cinfo)
{
    (void)cinfo;
}

static void on_reset(j_common_ptr cinfo)
{
    cinfo->err->num_warnings = 0;
    cinfo->err->msg_code = 0;
}

/* Called for each row of units of each scan: a small file may hold any number of scans. */
static void on_progress(j_common_ptr common)
{
    j_decompress_ptr cinfo = (j_decompress_ptr)common;
    if (cinfo->input_scan_number > STK_LIMIT_SCANS) {
        leave(common, STK_DECODE_UNSUPPORTED);
    }
}

static void set_callbacks(struct stk_jpeg *jpeg)
{
    jpeg->errors = (struct jpeg_error_mgr){
        .error_exit = on_error,
        .emit_message = on_message,
        .output_message = on_output,
        .reset_error_mgr = on_reset,
    };
    jpeg->progress.progress_monitor = on_progress;
    jpeg->cinfo.err = &jpeg->errors;
    jpeg->cinfo.client_data = jpeg;
}

struct stk_jpeg *stk_jpeg_new(const struct stk_kernels *kernels)
{
    struct stk_jpeg *jpeg = calloc(1, sizeof *jpeg);
    if (!jpeg) {
        return NULL;
    }
    set_callbacks(jpeg);
    jpeg->player.unpacker.kernels = jpeg->packer.kernels = kernels->form;
    jpeg->kernels = jpeg->player.kernels = kernels;
    jpeg->entropy = stk_entropy_new(kernels);
    if (!jpeg->entropy) {
        free(jpeg);
        return NULL;
    }
    return jpeg;
}

void stk_jpeg_free(struct stk_jpeg *jpeg)
{
    if (jpeg) {
        stk_jpeg_stop(jpeg);
        stk_entropy_free(jpeg->entropy);
        stk_form_player_free(&jpeg->player, 0);
        stk_packer_free(&jpeg->packer, 0);
        free(jpeg);
    }
}

/*
 * Makes libjpeg's object anew for each image. It keeps quantisation and Huffman tables from one
 * image to the next, and a file without tables would be decoded by those of another one.
 */
static void create(struct stk_jpeg *jpeg)
{
    jpeg->from_form = jpeg->keep = false;
    jpeg->form = (struct stk_form){NULL, 0};
    stk_packer_free(&jpeg->packer, KEPT_BYTES);
    jpeg_create_decompress(&jpeg->cinfo);
    jpeg->cinfo.progress = &jpeg->progress;
    jpeg->cinfo.mem->max_memory_to_use = STK_LIMIT_MEMORY;
}

void stk_jpeg_stop(struct stk_jpeg *jpeg)
{
    if (setjmp(jpeg->out) == 0) {
        jpeg_destroy_decompress(&jpeg->cinfo);
    }
    stk_entropy_rest(jpeg->entropy);
    stk_form_player_free(&jpeg->player, KEPT_BYTES);
}

/* ---- the header ---- */

static enum stk_color color_of(J_COLOR_SPACE space)
{
    switch (space) {
    case JCS_GRAYSCALE:
        return STK_COLOR_GREY;
    case JCS_YCbCr:
        return STK_COLOR_YCBCR;
    case JCS_RGB:
        return STK_COLOR_RGB;
    case JCS_CMYK:
        return STK_COLOR_CMYK;
    case JCS_YCCK:
        return STK_COLOR_YCCK;
    default:
        return STK_COLOR_OTHER;
    }
}

static bool is_data(uint8_t second)
{
    return second == 0 || (second >= 0xd0 && second <= 0xd7);
}

/* Returns the next 0xff. Returns NULL if there is none, except perhaps in the last byte. */
static const uint8_t *next_mark(stk_skip *skip, const uint8_t *at, const uint8_t *end)
{
    at = skip(at, end);
    return memchr(at, 0xff, (size_t)(end - at) - 1);
}

/*
 * Returns the end of the EOI marker, searched from the first scan's data on; NULL if the data do
 * not lead there. The data of a file's only scan must lead there: the reference reads other bytes
 * after the last row, and they may be an error then.
 */
static const uint8_t *find_end(stk_skip *skip, const uint8_t *at, const uint8_t *end,
                               bool multiscan)
{
    while (end - at >= 2 && (at = next_mark(skip, at, end)) != NULL) {
        if (at[1] == 0xd9) {
            return at + 2;
        }
        if (is_data(at[1])) {
            at += 2;
        } else if (at[1] == 0xff) {
            at += 1;
        } else if (multiscan && end - at >= 4) {
            size_t length = 2 + (size_t)(at[2] << 8 | at[3]);
            at = length < (size_t)(end - at) ? at + length : end;
        } else {
            return NULL;
        }
    }
    return NULL;
}

static void describe(const struct jpeg_decompress_struct *cinfo, bool multiscan,
                     struct stk_jpeg_info *info)
{
    *info = (struct stk_jpeg_info){
        .width = cinfo->image_width,
        .height = cinfo->image_height,
        .components = (uint32_t)cinfo->num_components,
        .color = color_of(cinfo->jpeg_color_space),
        .precision = (uint8_t)cinfo->data_precision,
        .progressive = cinfo->progressive_mode != 0,
        .arithmetic = cinfo->arith_code != 0,
        .multiscan = multiscan,
    };
}

int stk_jpeg_header(struct stk_jpeg *jpeg, const void *bytes, size_t size,
                    struct stk_jpeg_info *info)
{
    struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
    if (size == 0) {
        return STK_DECODE_CORRUPT;
    }
    if (setjmp(jpeg->out)) {
        return jpeg->result;
    }
    create(jpeg);
    jpeg->played = false;
    jpeg_mem_src(cinfo, bytes, size);
    if (jpeg_read_header(cinfo, TRUE) != JPEG_HEADER_OK) {
        return STK_DECODE_CORRUPT;
    }
    describe(cinfo, jpeg_has_multiple_scans(cinfo), info);
    jpeg->view = (struct stk_form_view){
        .source.header = bytes,
        .source.header_bytes = size - cinfo->src->bytes_in_buffer,
        .source.file_bytes = size,
    };
    return STK_DECODE_OK;
}

void stk_jpeg_end(struct stk_jpeg *jpeg, const void *bytes, size_t size, size_t known,
                  struct stk_jpeg_info *info)
{
    info->end = known <= size ? known : 0;
    if (info->end == 0) {
        const uint8_t *end = find_end(jpeg->kernels->skip, jpeg->cinfo.src->next_input_byte,
                                      (const uint8_t *)bytes + size, info->multiscan);
        info->end = end ? (size_t)(end - (const uint8_t *)bytes) : 0;
    }
    jpeg->view.source.info = *info;
}

int stk_jpeg_header_of_form(struct stk_jpeg *jpeg, const void *data, size_t bytes,
                            struct stk_jpeg_info *info)
{
    struct stk_jpeg_info found;
    if (setjmp(jpeg->out)) {
        return jpeg->result;
    }
    create(jpeg);
    int result = stk_form_open(&jpeg->view, data, bytes);
    if (result) {
        return result;
    }
    jpeg->from_form = true;
    jpeg_mem_src(&jpeg->cinfo, jpeg->view.setup, jpeg->view.setup_bytes);
    if (jpeg_read_header(&jpeg->cinfo, TRUE) != JPEG_HEADER_OK) {
        return STK_DECODE_CORRUPT;
    }
    describe(&jpeg->cinfo, false, &found);
    *info = jpeg->view.source.info;
    bool same = found.width == info->width && found.height == info->height &&
                found.components == info->components && found.color == info->color;
    return same ? STK_DECODE_OK : STK_DECODE_CORRUPT;
}

void stk_jpeg_keep(struct stk_jpeg *jpeg)
{
    jpeg->keep = true;
}

struct stk_form stk_jpeg_form(const struct stk_jpeg *jpeg)
{
    return jpeg->form;
}

int stk_jpeg_scale(struct stk_jpeg *jpeg, uint32_t scale, struct stk_jpeg_info *info)
{
    if (scale != 2 && scale != 4 && scale != 8) {
        return STK_DECODE_ARGUMENT;
    }
    if (setjmp(jpeg->out)) {
        return jpeg->result;
    }
    jpeg->cinfo.scale_denom = scale;
    jpeg_calc_output_dimensions(&jpeg->cinfo);
    info->width = jpeg->cinfo.output_width;
    info->height = jpeg->cinfo.output_height;
    return STK_DECODE_OK;
}

/* ---- scans ---- */

/*
 * Returns true if no earlier scan had a component of this scan. Where a new coefficient is zero
 * libjpeg leaves the old one, and the player does not.
 */
static bool are_new(struct stk_jpeg *jpeg)
{
    const struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
    unsigned these = 0;
    for (int i = 0; i < cinfo->comps_in_scan; i++) {
        these |= 1u << cinfo->cur_comp_info[i]->component_index;
    }
    bool are = (these & jpeg->scanned) == 0;
    jpeg->scanned |= these;
    return are;
}

/* Called when libjpeg has read a scan's header, and before it prepares to read the data. */
static void start_scan(j_decompress_ptr cinfo)
{
    struct stk_jpeg *jpeg = cinfo->client_data;
    if (jpeg->from_form) {
        if (!stk_entropy_knows(cinfo) ||
            !stk_form_player_start(&jpeg->player, &jpeg->view, cinfo)) {
            ERREXIT(cinfo, JERR_INPUT_EMPTY);
        }
    } else if (are_new(jpeg) && stk_entropy_parse(jpeg->entropy, cinfo, jpeg->lines)) {
        stk_entropy_play(jpeg->entropy, cinfo);
    } else {
        jpeg->played = false;
        stk_entropy_step_back(jpeg->entropy, cinfo);
    }
}

/*
 * Called around libjpeg's own functions: before the first scan, and after each. After a scan that
 * libjpeg did itself all scans are libjpeg's: its counts of that scan may make it warn later.
 */
static void begin_input(j_decompress_ptr cinfo)
{
    struct stk_jpeg *jpeg = cinfo->client_data;
    stk_entropy_stand_in(jpeg->entropy, cinfo, start_scan);
    jpeg->begin_input(cinfo);
}

static void end_scan(j_decompress_ptr cinfo)
{
    struct stk_jpeg *jpeg = cinfo->client_data;
    jpeg->end_scan(cinfo);
    if (jpeg->played) {
        stk_entropy_stand_in(jpeg->entropy, cinfo, start_scan);
    }
}

static void start_decompress(struct stk_jpeg *jpeg, uint32_t lines)
{
    struct jpeg_input_controller *input = jpeg->cinfo.inputctl;
    bool all = jpeg->keep || jpeg->cinfo.scale_denom > 1;
    jpeg->lines = all ? jpeg->cinfo.image_height : lines;
    jpeg->scanned = 0;
    jpeg->played = true;
    jpeg->begin_input = input->start_input_pass;
    jpeg->end_scan = input->finish_input_pass;
    input->start_input_pass = begin_input;
    input->finish_input_pass = end_scan;
    if (jpeg->keep && jpeg->cinfo.arith_code) {
        input->has_multiple_scans = TRUE; /* so that libjpeg collects the coefficients */
    }
    jpeg_start_decompress(&jpeg->cinfo);
}

/* Makes a form of complete coefficients: the parser's, or those that libjpeg has collected. */
static void make_form(struct stk_jpeg *jpeg)
{
    struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
    bool made = false;
    if (cinfo->inputctl->has_multiple_scans) {
        made = stk_make_of_arrays(&jpeg->packer, &jpeg->view, cinfo, &jpeg->form);
    } else if (jpeg->played) {
        made = stk_make_of_scan(&jpeg->packer, &jpeg->view, stk_entropy_coefficients(jpeg->entropy),
                                cinfo, &jpeg->form);
    }
    jpeg->form.bytes = made ? jpeg->form.bytes : 0;
}

/* ---- rows ---- */

/* Returns the blocks of all components, which are known as soon as the header is. */
static uint64_t count_blocks(const struct jpeg_decompress_struct *cinfo)
{
    uint64_t blocks = 0;
    for (int c = 0; c < cinfo->num_components; c++) {
        const jpeg_component_info *component = &cinfo->comp_info[c];
        blocks += (uint64_t)component->width_in_blocks * component->height_in_blocks;
    }
    return blocks;
}

/* Rejects an image that claims to be far larger than its bytes can hold, before it costs anything.
 */
static int check_size(const struct stk_jpeg *jpeg)
{
    const struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
    uint64_t blocks = count_blocks(cinfo), bits = 8 * (uint64_t)cinfo->src->bytes_in_buffer;
    if ((uint64_t)cinfo->image_width * cinfo->image_height > STK_LIMIT_PIXELS) {
        return STK_DECODE_MEMORY;
    }
    if (jpeg->from_form) {
        bits = 8 * (uint64_t)jpeg->view.groups_bytes;
        return blocks * LEAST_BITS_OF_FORM > bits ? STK_DECODE_CORRUPT : STK_DECODE_OK;
    }
    if (cinfo->arith_code) {
        return blocks > bits * STK_LIMIT_ARITHMETIC ? STK_DECODE_UNSUPPORTED : STK_DECODE_OK;
    }
    uint64_t least = cinfo->progressive_mode ? 1 : 2; /* bits a block: DC; DC and end of block */
    return blocks * least > bits ? STK_DECODE_CORRUPT : STK_DECODE_OK;
}

/*
 * Coefficients that never became exact: libjpeg smooths such images, from neighbours that a region
 * does not have, and differently in each version.
 */
static bool is_incomplete(const struct jpeg_decompress_struct *cinfo)
{
    for (int c = 0; cinfo->coef_bits && c < cinfo->num_components; c++) {
        for (int i = 0; i < DCTSIZE2; i++) {
            if (cinfo->coef_bits[c][i] != 0) {
                return true;
            }
        }
    }
    return false;
}

/*
 * Makes libjpeg decode fewer columns, if that is worth it. At the edge of the decoded columns
 * upsampling lacks a neighbour, so a pixel more is decoded on each side. A component of one or two
 * columns would be upsampled in another way, so there are always more columns.
 */
static void crop_columns(struct jpeg_decompress_struct *cinfo, struct stk_region region,
                         uint32_t *indent)
{
    JDIMENSION whole = cinfo->output_width;
    JDIMENSION left = region.left > 0 ? region.left - 1 : 0;
    JDIMENSION right = region.left + region.width + 1;
    right = right < left + NARROWEST ? left + NARROWEST : right;
    right = right < whole ? right : whole;
    left = right > NARROWEST && right - left < NARROWEST ? right - NARROWEST : left;
    JDIMENSION width = right - left;
    if (width >= NARROWEST && width < whole) {
        jpeg_crop_scanline(cinfo, &left, &width);
    } else {
        left = 0;
    }
    *indent = region.left - left;
}

static J_COLOR_SPACE space_of(enum stk_pixel pixel)
{
    static const J_COLOR_SPACE spaces[] = {
        [STK_PIXEL_LUMA] = JCS_GRAYSCALE,
        [STK_PIXEL_RGB] = JCS_EXT_RGB,
        [STK_PIXEL_BGR] = JCS_EXT_BGR,
        [STK_PIXEL_RGBX] = JCS_EXT_RGBX,
    };
    return spaces[pixel];
}

int stk_jpeg_start(struct stk_jpeg *jpeg, struct stk_region region, enum stk_pixel pixel,
                   uint32_t *indent, uint32_t *row_pixels)
{
    struct jpeg_decompress_struct *cinfo = &jpeg->cinfo;
    int result = check_size(jpeg);
    if (result) {
        return result;
    }
    if (setjmp(jpeg->out)) {
        return jpeg->result;
    }
    cinfo->out_color_space = space_of(pixel);
    start_decompress(jpeg, region.top + region.height);
    if (is_incomplete(cinfo)) {
        return STK_DECODE_UNSUPPORTED;
    }
    if (jpeg->keep) {
        make_form(jpeg);
    }
    crop_columns(cinfo, region, indent);
    if (jpeg->from_form) {
        stk_form_player_crop(&jpeg->player, cinfo);
        stk_units_start(&jpeg->units, &stk_form_player_producer, jpeg->kernels, cinfo);
    } else if (jpeg->played) {
        stk_entropy_crop(jpeg->entropy, cinfo);
        stk_units_start(&jpeg->units, &stk_player_producer, jpeg->kernels, cinfo);
    }
    stk_lines_start(&jpeg->lines_of_pixels, jpeg->kernels, cinfo);
    *row_pixels = cinfo->output_width;
    if (region.top > 0 && jpeg_skip_scanlines(cinfo, region.top) != region.top) {
        return STK_DECODE_CORRUPT;
    }
    return STK_DECODE_OK;
}

unsigned stk_jpeg_cursors(const struct stk_jpeg *jpeg)
{
    return jpeg->played ? stk_entropy_cursors(jpeg->entropy) : 0;
}

int stk_jpeg_read(struct stk_jpeg *jpeg, uint8_t **rows, uint32_t count)
{
    if (setjmp(jpeg->out)) {
        return jpeg->result;
    }
    JDIMENSION read = jpeg_read_scanlines(&jpeg->cinfo, rows, count);
    return read > 0 ? (int)read : STK_DECODE_CORRUPT;
}
