/*
 * Where the time of a decoded photograph goes: each stage without those inside of it, in
 * nanoseconds.
 *
 *     stages LIST [keep|form]
 *
 *                       a line of LIST: a file, the crop, the size, the window (left top right
 *                       bottom; width height; left top right bottom), 1 for normalised floats
 *
 * Linked with decode/ itself. Its own functions are met by the linker's --wrap; libjpeg's stages
 * are function pointers, which are replaced once it has set them, as the kernels are. Prints one
 * line for each stage, with the figure of each pass over all photographs; `whole` is measured
 * without the clocks. The cost of a clock is measured first, and taken off. `coefficients` are
 * those that our own parser found, on their way to the inverse DCT; `upsampling and colour` is
 * ours, the two by themselves are libjpeg's.
 */
#include <stdbool.h>
#include <string.h>

#define PROGRAM "stages"
#include "bench/programs/common.h"

#include "decode/decode.h"
#include "decode/decoder.h"
#include "decode/resize/emit.h"
#include "decode/entropy/entropy.h"
#include "decode/form/form_make.h"
#include "decode/form/form_player.h"
#include "decode/jpeg/jpeg.h"
#include "decode/resize/taps.h"
#include "decode/stages/units.h"

#define PHOTOS 1024
#define PASSES 15

#define STAGES(X)                                                                                  \
    X(CONTROL, "control")                                                                          \
    X(HEADER, "header")                                                                            \
    X(START, "tables and buffers")                                                                 \
    X(HUFFMAN, "Huffman")                                                                          \
    X(MAKING, "making the form")                                                                   \
    X(PLANES, "planes of the form")                                                                \
    X(COEFFICIENTS, "coefficients")                                                                \
    X(IDCT, "IDCT")                                                                                \
    X(UPSAMPLING, "upsampling")                                                                    \
    X(COLOUR, "colour")                                                                            \
    X(LINES, "upsampling and colour")                                                              \
    X(TAPS, "weights")                                                                             \
    X(HORIZONTAL, "horizontal")                                                                    \
    X(VERTICAL, "vertical")                                                                        \
    X(EMIT, "layout")                                                                              \
    X(STOP, "release")

#define NUMBER(name, text) name,
#define TEXT(name, text)   text,
enum stage { STAGES(NUMBER) COUNT };
static const char *const names[] = {STAGES(TEXT)};

/* The inputs: files, files of which forms are made, or forms. */
static enum { FROM_FILE, KEEPING, FROM_FORM } way;

struct photo {
    struct file file;
    struct stk_plan plan;
    struct stk_target target;
};

static struct photo photos[PHOTOS];
static size_t photo_count;
static float table[3 * 256];

/* ---- clocks: the time since the last change belongs to the stage that was entered then ---- */

static struct {
    bool on;
    enum stage stage;
    uint64_t since;
    uint64_t ticks[COUNT];
    uint64_t entered[COUNT], interrupted[COUNT]; /* how often: each costs what a clock costs */
} clocks;

static double inner_cost, outer_cost; /* of a clock, in ticks, within the stage and around it */

static int64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static inline uint64_t ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return (uint64_t)clock_ns();
#endif
}

static inline void change(enum stage to)
{
    uint64_t now = ticks();
    clocks.ticks[clocks.stage] += now - clocks.since;
    clocks.since = now;
    clocks.stage = to;
}

static inline enum stage enter(enum stage stage)
{
    enum stage before = clocks.stage;
    if (clocks.on) {
        clocks.interrupted[before]++;
        clocks.entered[stage]++;
        change(stage);
    }
    return before;
}

static inline void leave(enum stage before)
{
    if (clocks.on) {
        change(before);
    }
}

static void start_clocks(void)
{
    memset(&clocks, 0, sizeof clocks);
    clocks.on = true;
    clocks.since = ticks();
}

/* The least of many, since a clock that is interrupted costs more. */
static void measure_clocks(void)
{
    const int rounds = 10000;
    inner_cost = outer_cost = 1e9;
    for (int time = 0; time < 100; time++) {
        start_clocks();
        for (int i = 0; i < rounds; i++) {
            leave(enter(HUFFMAN));
        }
        change(CONTROL);
        double inner = (double)clocks.ticks[HUFFMAN] / rounds;
        double outer = (double)clocks.ticks[CONTROL] / rounds;
        inner_cost = inner < inner_cost ? inner : inner_cost;
        outer_cost = outer < outer_cost ? outer : outer_cost;
    }
    clocks.on = false;
}

static double ticks_of(enum stage stage)
{
    return (double)clocks.ticks[stage] - (double)clocks.entered[stage] * inner_cost -
           (double)clocks.interrupted[stage] * outer_cost;
}

/* ---- libjpeg's stages ---- */

static struct {
    boolean (*decode_mcu)(j_decompress_ptr, JBLOCKROW *);
    int (*decompress_data)(j_decompress_ptr, JSAMPIMAGE);
    void (*upsample)(j_decompress_ptr, JSAMPIMAGE, JDIMENSION *, JDIMENSION, JSAMPARRAY,
                     JDIMENSION *, JDIMENSION);
    void (*color_convert)(j_decompress_ptr, JSAMPIMAGE, JDIMENSION, JSAMPARRAY, int);
} real;

/* By libjpeg, or from what was parsed before; the latter with an inverse DCT of our own. */
static enum stage mcu_stage, data_stage;

static boolean decode_mcu(j_decompress_ptr cinfo, JBLOCKROW *blocks)
{
    enum stage before = enter(mcu_stage);
    boolean result = real.decode_mcu(cinfo, blocks);
    leave(before);
    return result;
}

static int decompress_data(j_decompress_ptr cinfo, JSAMPIMAGE out)
{
    enum stage before = enter(data_stage);
    int result = real.decompress_data(cinfo, out);
    leave(before);
    return result;
}

static void upsample(j_decompress_ptr cinfo, JSAMPIMAGE in, JDIMENSION *group, JDIMENSION groups,
                     JSAMPARRAY out, JDIMENSION *row, JDIMENSION rows)
{
    enum stage before = enter(UPSAMPLING);
    real.upsample(cinfo, in, group, groups, out, row, rows);
    leave(before);
}

static void color_convert(j_decompress_ptr cinfo, JSAMPIMAGE in, JDIMENSION row, JSAMPARRAY out,
                          int rows)
{
    enum stage before = enter(COLOUR);
    real.color_convert(cinfo, in, row, out, rows);
    leave(before);
}

static void clock_mcus(j_decompress_ptr cinfo, enum stage stage)
{
    real.decode_mcu = cinfo->entropy->decode_mcu;
    cinfo->entropy->decode_mcu = decode_mcu;
    mcu_stage = stage;
}

static void clock_data(j_decompress_ptr cinfo, enum stage stage)
{
    real.decompress_data = cinfo->coef->decompress_data;
    cinfo->coef->decompress_data = decompress_data;
    data_stage = stage;
}

boolean __real_jpeg_start_decompress(j_decompress_ptr cinfo);
boolean __wrap_jpeg_start_decompress(j_decompress_ptr cinfo);

boolean __wrap_jpeg_start_decompress(j_decompress_ptr cinfo)
{
    boolean result = __real_jpeg_start_decompress(cinfo);
    if (clocks.on) {
        if (cinfo->entropy->decode_mcu != decode_mcu) { /* it is libjpeg's */
            clock_mcus(cinfo, HUFFMAN);
        }
        clock_data(cinfo, IDCT);
        real.upsample = cinfo->post->post_process_data; /* which is upsampling */
        real.color_convert = cinfo->cconvert->color_convert;
        cinfo->post->post_process_data = upsample;
        cinfo->cconvert->color_convert = color_convert;
    }
    return result;
}

/* ---- our own ---- */

#define WRAP(where, type, name, parameters, arguments)                                             \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        enum stage before = enter(where);                                                          \
        type result = __real_##name arguments;                                                     \
        leave(before);                                                                             \
        return result;                                                                             \
    }

WRAP(HEADER, int, stk_jpeg_header,
     (struct stk_jpeg * jpeg, const void *bytes, size_t size, struct stk_jpeg_info *info),
     (jpeg, bytes, size, info))
WRAP(START, int, stk_jpeg_start,
     (struct stk_jpeg * jpeg, struct stk_region region, enum stk_pixel pixel, uint32_t *indent,
      uint32_t *pixels),
     (jpeg, region, pixel, indent, pixels))
WRAP(HUFFMAN, bool, stk_entropy_parse,
     (struct stk_entropy * entropy, const struct jpeg_decompress_struct *cinfo, uint32_t lines),
     (entropy, cinfo, lines))
WRAP(HEADER, int, stk_jpeg_header_of_form,
     (struct stk_jpeg * jpeg, const void *data, size_t bytes, struct stk_jpeg_info *info),
     (jpeg, data, bytes, info))
WRAP(MAKING, bool, stk_make_of_scan,
     (struct stk_packer * packer, struct stk_form_view *view,
      const struct stk_coefficients *coefficients, const struct jpeg_decompress_struct *cinfo,
      struct stk_form *out),
     (packer, view, coefficients, cinfo, out))
WRAP(PLANES, int, stk_unpacker_read,
     (struct stk_unpacker * unpacker, const uint8_t *begin, const uint8_t *end),
     (unpacker, begin, end))
WRAP(TAPS, int, stk_taps_make,
     (struct stk_workspace * workspace, enum stk_scratch scratch, const struct stk_axis *axis,
      struct stk_axis_taps *out),
     (workspace, scratch, axis, out))

void __real_stk_entropy_play(struct stk_entropy *entropy, j_decompress_ptr cinfo);
void __wrap_stk_entropy_play(struct stk_entropy *entropy, j_decompress_ptr cinfo);

void __wrap_stk_entropy_play(struct stk_entropy *entropy, j_decompress_ptr cinfo)
{
    __real_stk_entropy_play(entropy, cinfo);
    if (clocks.on) {
        clock_mcus(cinfo, COEFFICIENTS);
    }
}

bool __real_stk_form_player_start(struct stk_form_player *player, const struct stk_form_view *view,
                                  j_decompress_ptr cinfo);
bool __wrap_stk_form_player_start(struct stk_form_player *player, const struct stk_form_view *view,
                                  j_decompress_ptr cinfo);

bool __wrap_stk_form_player_start(struct stk_form_player *player, const struct stk_form_view *view,
                                  j_decompress_ptr cinfo)
{
    bool result = __real_stk_form_player_start(player, view, cinfo);
    if (clocks.on && result) {
        clock_mcus(cinfo, COEFFICIENTS);
    }
    return result;
}

void __real_stk_units_start(struct stk_units *units, const struct stk_producer *producer,
                            const struct stk_kernels *kernels, j_decompress_ptr cinfo);
void __wrap_stk_units_start(struct stk_units *units, const struct stk_producer *producer,
                            const struct stk_kernels *kernels, j_decompress_ptr cinfo);

void __wrap_stk_units_start(struct stk_units *units, const struct stk_producer *producer,
                            const struct stk_kernels *kernels, j_decompress_ptr cinfo)
{
    __real_stk_units_start(units, producer, kernels, cinfo);
    if (clocks.on && cinfo->coef->decompress_data != decompress_data) {
        clock_data(cinfo, COEFFICIENTS);
    }
}

void __real_stk_jpeg_stop(struct stk_jpeg *jpeg);
void __wrap_stk_jpeg_stop(struct stk_jpeg *jpeg);
void __real_stk_emit_line(const struct stk_emit *emit, const uint8_t *line, uint32_t y);
void __wrap_stk_emit_line(const struct stk_emit *emit, const uint8_t *line, uint32_t y);

void __wrap_stk_jpeg_stop(struct stk_jpeg *jpeg)
{
    enum stage before = enter(STOP);
    __real_stk_jpeg_stop(jpeg);
    leave(before);
}

void __wrap_stk_emit_line(const struct stk_emit *emit, const uint8_t *line, uint32_t y)
{
    enum stage before = enter(EMIT);
    __real_stk_emit_line(emit, line, y);
    leave(before);
}

static const struct stk_kernels *plain_kernels;

static void horizontal(uint8_t *const *out, const uint8_t *const *in, const struct stk_taps *taps)
{
    enum stage before = enter(HORIZONTAL);
    plain_kernels->horizontal(out, in, taps);
    leave(before);
}

static void vertical(uint8_t *out, const uint8_t *const *rows, const struct stk_weights *weights,
                     uint32_t groups, size_t pixels)
{
    enum stage before = enter(VERTICAL);
    plain_kernels->vertical(out, rows, weights, groups, pixels);
    leave(before);
}

static uint64_t blocks_made, pixels_made; /* by our own stages, under the clocks */

static bool idct(uint8_t *const *rows, size_t at, unsigned count, const struct stk_quad *blocks,
                 const uint16_t factors[64])
{
    blocks_made += clocks.on ? count : 0;
    enum stage before = enter(IDCT);
    bool result = plain_kernels->idct(rows, at, count, blocks, factors);
    leave(before);
    return result;
}

static void colour(uint8_t *out, const struct stk_line *line)
{
    pixels_made += clocks.on ? line->pixels : 0;
    enum stage before = enter(LINES);
    plain_kernels->colour(out, line);
    leave(before);
}

/* ---- photographs ---- */

/* The form of a file, in the place of its bytes. */
static struct file form_of(const struct file *file)
{
    struct stk_jpeg_info info;
    struct stk_form form = {NULL, 0};
    struct stk_decoder *decoder = stk_decoder_new();
    stk_decode_examine(decoder, file->bytes, file->size, &info);
    struct stk_plan plan = {.crop = {0, 0, (int32_t)info.width, (int32_t)info.height},
                            .width = info.width,
                            .height = info.height,
                            .box = {0, 0, (float)info.width, (float)info.height},
                            .channels = 3};
    struct stk_target target = {.row_bytes = 3 * (size_t)info.width,
                                .bytes = 3 * (size_t)info.width * info.height};
    target.data = malloc(target.bytes);
    stk_decode_keep(decoder, file->bytes, file->size, &plan, &target, &form);
    struct file kept = {malloc(form.bytes), form.bytes};
    if (form.bytes == 0 || kept.bytes == NULL) {
        fail("cannot make", "a form");
    }
    memcpy(kept.bytes, form.data, form.bytes);
    free(target.data);
    stk_decoder_free(decoder);
    return kept;
}

static void aim(struct photo *photo, bool floats)
{
    struct stk_plan *plan = &photo->plan;
    const uint32_t *window = plan->window;
    size_t width = window[2] ? window[2] - window[0] : plan->width;
    size_t height = window[3] ? window[3] - window[1] : plan->height;
    size_t row = width * (floats ? sizeof(float) : 3);
    plan->layout = floats ? STK_LAYOUT_CHW : STK_LAYOUT_HWC;
    plan->type = floats ? STK_TYPE_F32 : STK_TYPE_U8;
    photo->target = (struct stk_target){
        .row_bytes = row,
        .plane_bytes = row * height,
        .bytes = row * height * (floats ? 3 : 1),
    };
    photo->target.data = malloc(photo->target.bytes);
    if (photo->target.data == NULL) {
        fail("no memory for", "the pixels");
    }
}

static bool read_photo(FILE *list, struct photo *photo)
{
    char path[4096];
    int32_t *c = photo->plan.crop;
    uint32_t *w = photo->plan.window;
    int floats;
    if (fscanf(list, "%4095s %d %d %d %d %u %u %u %u %u %u %d", path, &c[0], &c[1], &c[2], &c[3],
               &photo->plan.width, &photo->plan.height, &w[0], &w[1], &w[2], &w[3],
               &floats) != 12) {
        return false;
    }
    photo->plan.box[2] = (float)(c[2] - c[0]);
    photo->plan.box[3] = (float)(c[3] - c[1]);
    photo->plan.filter = STK_FILTER_BILINEAR;
    photo->plan.resizer = STK_RESIZER_SHRINK_VERTICAL;
    photo->plan.channels = 3;
    photo->plan.table = table;
    photo->file = read_file(path);
    if (way == FROM_FORM) {
        photo->file = form_of(&photo->file);
    }
    aim(photo, floats != 0);
    return true;
}

static void read_list(const char *path)
{
    const float mean = 0.45F, deviation = 0.225F;
    FILE *list = fopen(path, "r");
    if (list == NULL) {
        fail("cannot read", path);
    }
    for (int c = 0; c < 3; c++) {
        stk_decode_table(table + 256 * c, &mean, &deviation);
    }
    while (photo_count < PHOTOS && read_photo(list, &photos[photo_count])) {
        photo_count++;
    }
    fclose(list);
}

/* ---- measuring ---- */

static int decode(struct stk_decoder *decoder, const struct photo *photo)
{
    struct stk_form form;
    const struct file *file = &photo->file;
    const struct stk_plan *plan = &photo->plan;
    const struct stk_target *target = &photo->target;
    switch (way) {
    case FROM_FORM:
        return stk_decode_form(decoder, file->bytes, file->size, plan, target);
    case KEEPING:
        return stk_decode_keep(decoder, file->bytes, file->size, plan, target, &form);
    default:
        return stk_decode(decoder, file->bytes, file->size, plan, target);
    }
}

static void decode_all(struct stk_decoder *decoder)
{
    for (size_t i = 0; i < photo_count; i++) {
        struct photo *photo = &photos[i];
        if (decode(decoder, photo) != 0) {
            fail("cannot decode", "a photograph");
        }
    }
}

static double measure_whole(struct stk_decoder *decoder)
{
    int64_t start_ns = clock_ns();
    decode_all(decoder);
    return (double)(clock_ns() - start_ns) / (double)photo_count;
}

static void measure_stages(struct stk_decoder *decoder, double ns[COUNT])
{
    int64_t start_ns = clock_ns();
    uint64_t start = ticks();
    start_clocks();
    decode_all(decoder);
    change(CONTROL);
    clocks.on = false;
    double each = (double)(clock_ns() - start_ns) / (double)(ticks() - start);
    for (int i = 0; i < COUNT; i++) {
        ns[i] = ticks_of((enum stage)i) * each / (double)photo_count;
    }
}

/* On stderr: what a block and a pixel cost in our own stages, in the mean of all passes. */
static void print_each(double ns[PASSES][COUNT])
{
    double block_ns = 0, pixel_ns = 0;
    for (int pass = 0; pass < PASSES; pass++) {
        block_ns += (ns[pass][COEFFICIENTS] + ns[pass][IDCT]) * (double)photo_count;
        pixel_ns += ns[pass][LINES] * (double)photo_count;
    }
    if (blocks_made > 0) {
        fprintf(stderr, "coefficients and IDCT: %.2f ns a block\n", block_ns / (double)blocks_made);
    }
    if (pixels_made > 0) {
        fprintf(stderr, "upsampling and colour: %.3f ns a pixel\n", pixel_ns / (double)pixels_made);
    }
}

int main(int argument_count, char **arguments)
{
    static double whole[PASSES], ns[PASSES][COUNT];
    struct stk_decoder *decoder = stk_decoder_new();
    if (argument_count < 2 || argument_count > 3 || decoder == NULL) {
        fail("usage: stages", "LIST [keep|form]");
    }
    if (argument_count == 3) {
        way = strcmp(arguments[2], "form") == 0 ? FROM_FORM : KEEPING;
    }
    read_list(arguments[1]);
    measure_clocks();
    plain_kernels = decoder->workspace.kernels;
    struct stk_kernels timed = *plain_kernels;
    timed.horizontal = horizontal;
    timed.vertical = vertical;
    timed.idct = timed.idct ? idct : NULL;
    timed.colour = timed.colour ? colour : NULL;
    decoder->workspace.kernels = &timed;
    decode_all(decoder);
    for (int pass = 0; pass < PASSES; pass++) {
        whole[pass] = measure_whole(decoder);
        measure_stages(decoder, ns[pass]);
    }
    for (int i = -1; i < COUNT; i++) {
        printf("%s:", i < 0 ? "whole" : names[i]);
        for (int pass = 0; pass < PASSES; pass++) {
            printf(" %.1f", i < 0 ? whole[pass] : ns[pass][i]);
        }
        putchar('\n');
    }
    print_each(ns);
    stk_decoder_free(decoder);
    return 0;
}
