/*
 * An nvJPEG of ours for tests: a libnvjpeg.so.13 with the calls that gpu/ makes (gpu/nvjpeg.def),
 * over the driver of the tests. Pixels are libjpeg's, so they are what the processor makes.
 *
 * A batch is decoded on its stream, a while later than it could be, and only then are its bytes
 * read. A use of memory while a batch is under way, or a write to where no memory is, is counted as
 * wild.
 */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

#include "gpu/nvjpeg.h"
#include "tests/gpu/world.h"

#define EXPORT __attribute__((visibility("default")))

enum { EXECUTION_FAILED = 6, ARCH_MISMATCH = 7 };

/* ---- every call ---- */

/* Returns a driver's error in nvJPEG's terms; those of images stay as they are. */
static int told(int result)
{
    if (result == 0 || stk_gpu_nvjpeg_is_of_image(result)) {
        return result;
    }
    return result == 2 ? STK_NVJPEG_ALLOCATOR_FAILURE : EXECUTION_FAILED;
}

#define BEGIN()                                                                                    \
    int result = told(cuda_world_call(__func__));                                                  \
    if (result != 0) {                                                                             \
        return result;                                                                             \
    }

struct thing {
    bool is_engine;    /* a handle's */
    int count;         /* a state's: of a batch */
    bool is_under_way; /* and whether that is on its way */
    struct header {
        unsigned width, height;
        bool is_usual,
            is_wide; /* three colours, baseline; with fewer than half as many chroma columns */
    } header;
};

static int make(void **out)
{
    *out = calloc(1, sizeof(struct thing));
    cuda_world()->decoders++;
    return 0;
}

/* On a device that is dead nothing is under way any more. */
static int drop(struct thing *thing, int result)
{
    cuda_world()->wild += thing->is_under_way && result == 0;
    cuda_world()->decoders--;
    free(thing);
    return result;
}

/* ---- libjpeg ---- */

struct failing {
    struct jpeg_error_mgr manager;
    jmp_buf out;
};

static void jump(j_common_ptr cinfo)
{
    longjmp(((struct failing *)cinfo->err)->out, 1);
}

static void say_nothing(j_common_ptr cinfo, int level)
{
    (void)cinfo;
    (void)level;
}

static void forget(j_common_ptr cinfo)
{
    (void)cinfo;
}

/* Not by jpeg_std_error, which would print. */
static void begin_jpeg(struct jpeg_decompress_struct *cinfo, struct failing *failing)
{
    *failing = (struct failing){
        .manager = {.error_exit = jump, .emit_message = say_nothing, .reset_error_mgr = forget}};
    cinfo->err = &failing->manager;
    jpeg_create_decompress(cinfo);
}

static bool parse(struct header *header, const unsigned char *bytes, size_t size)
{
    struct jpeg_decompress_struct cinfo;
    struct failing failing;
    begin_jpeg(&cinfo, &failing);
    volatile bool is_sound = false;
    if (setjmp(failing.out) == 0) {
        jpeg_mem_src(&cinfo, bytes, (unsigned long)size);
        jpeg_read_header(&cinfo, TRUE);
        bool is_usual = cinfo.num_components == 3 && !cinfo.progressive_mode && !cinfo.arith_code;
        *header = (struct header){cinfo.image_width, cinfo.image_height, is_usual,
                                  cinfo.comp_info[0].h_samp_factor > 2};
        is_sound = true;
    }
    jpeg_destroy_decompress(&cinfo);
    return is_sound;
}

static void store_row(const struct stk_nvjpeg_image *to, const unsigned char *row, size_t y,
                      size_t width)
{
    for (size_t x = 0; x < width; x++) {
        for (size_t plane = 0; plane < 3; plane++) {
            to->channel[plane][y * to->pitch[plane] + x] = row[x * 3 + plane];
        }
    }
}

static bool has_memory(const struct stk_nvjpeg_image *to, size_t width, size_t height)
{
    for (size_t plane = 0; plane < 3; plane++) {
        if (to->pitch[plane] < width ||
            !cuda_world_has(to->channel[plane], to->pitch[plane] * (height - 1) + width)) {
            return false;
        }
    }
    return true;
}

/* Decodes an image. A damaged one is grey, or whatever libjpeg makes of it. */
static void decode(const unsigned char *bytes, size_t size, const struct stk_nvjpeg_image *to)
{
    struct jpeg_decompress_struct cinfo;
    struct failing failing;
    unsigned char *volatile row = NULL;
    begin_jpeg(&cinfo, &failing);
    if (setjmp(failing.out) == 0) {
        jpeg_mem_src(&cinfo, bytes, (unsigned long)size);
        jpeg_read_header(&cinfo, TRUE);
        jpeg_start_decompress(&cinfo);
        row = malloc((size_t)cinfo.output_width * 3);
        bool has = has_memory(to, cinfo.output_width, cinfo.output_height);
        cuda_world()->wild += !has;
        while (has && cinfo.output_scanline < cinfo.output_height) {
            unsigned char *at = row;
            jpeg_read_scanlines(&cinfo, &at, 1);
            store_row(to, row, cinfo.output_scanline - 1, cinfo.output_width);
        }
        cuda_world()->decoded += has;
    }
    free(row);
    jpeg_destroy_decompress(&cinfo);
}

/* ---- beginning and ending ---- */

EXPORT int nvjpegGetProperty(int type, int *value);
EXPORT int nvjpegGetProperty(int type, int *value)
{
    *value = type == STK_NVJPEG_MAJOR ? 13 : 0;
    return 0;
}

EXPORT int nvjpegCreateEx(int backend, void *dev, void *pinned, unsigned flags, void **handle);
EXPORT int nvjpegCreateEx(int backend, void *dev, void *pinned, unsigned flags, void **handle)
{
    BEGIN();
    if (dev != NULL || pinned != NULL || flags != 0) {
        return STK_NVJPEG_INVALID_PARAMETER;
    }
    if (backend == STK_NVJPEG_HARDWARE && cuda_world()->has_no_engine) {
        return ARCH_MISMATCH;
    }
    make(handle);
    ((struct thing *)*handle)->is_engine = backend == STK_NVJPEG_HARDWARE;
    return 0;
}

EXPORT int nvjpegDestroy(void *handle);
EXPORT int nvjpegDestroy(void *handle)
{
    return drop(handle, told(cuda_world_call(__func__)));
}

EXPORT int nvjpegJpegStateCreate(void *handle, void **state);
EXPORT int nvjpegJpegStateCreate(void *handle, void **state)
{
    BEGIN();
    return handle == NULL ? STK_NVJPEG_INVALID_PARAMETER : make(state);
}

EXPORT int nvjpegJpegStateDestroy(void *state);
EXPORT int nvjpegJpegStateDestroy(void *state)
{
    return drop(state, told(cuda_world_call(__func__)));
}

EXPORT int nvjpegJpegStreamCreate(void *handle, void **header);
EXPORT int nvjpegJpegStreamCreate(void *handle, void **header)
{
    BEGIN();
    return handle == NULL ? STK_NVJPEG_INVALID_PARAMETER : make(header);
}

EXPORT int nvjpegJpegStreamDestroy(void *header);
EXPORT int nvjpegJpegStreamDestroy(void *header)
{
    return drop(header, told(cuda_world_call(__func__)));
}

/* ---- headers ---- */

EXPORT int nvjpegJpegStreamParseHeader(void *handle, const unsigned char *data, size_t length,
                                       void *header);
EXPORT int nvjpegJpegStreamParseHeader(void *handle, const unsigned char *data, size_t length,
                                       void *header)
{
    BEGIN();
    (void)handle;
    return parse(&((struct thing *)header)->header, data, length) ? 0 : STK_NVJPEG_BAD_JPEG;
}

EXPORT int nvjpegJpegStreamGetFrameDimensions(void *header, unsigned *width, unsigned *height);
EXPORT int nvjpegJpegStreamGetFrameDimensions(void *header, unsigned *width, unsigned *height)
{
    BEGIN();
    const struct thing *thing = header;
    *width = thing->header.width;
    *height = thing->header.height;
    return 0;
}

EXPORT int nvjpegDecodeBatchedSupported(void *handle, void *header, int *is_supported);
/* The engine takes no file of the samplings 4:1:1 and 4:1:0. */
EXPORT int nvjpegDecodeBatchedSupported(void *handle, void *header, int *is_supported)
{
    BEGIN();
    const struct header *found = &((struct thing *)header)->header;
    *is_supported = !found->is_usual || (found->is_wide && ((struct thing *)handle)->is_engine);
    return 0;
}

/* ---- batches ---- */

struct batch {
    struct thing *state;
    int count;
    struct one {
        const unsigned char *bytes;
        size_t size;
        struct stk_nvjpeg_image to;
    } of[];
};

static void decode_batch(void *argument)
{
    struct batch *batch = argument;
    for (int i = 0; i < batch->count; i++) {
        decode(batch->of[i].bytes, batch->of[i].size, &batch->of[i].to);
    }
    batch->state->is_under_way = false;
    free(batch);
}

EXPORT int nvjpegDecodeBatchedInitialize(void *handle, void *state, int count, int threads,
                                         int format);
EXPORT int nvjpegDecodeBatchedInitialize(void *handle, void *state, int count, int threads,
                                         int format)
{
    BEGIN();
    (void)handle;
    struct thing *thing = state;
    cuda_world()->wild += thing->is_under_way;
    thing->count = count;
    return count > 0 && threads > 0 && format == STK_NVJPEG_RGB ? 0 : STK_NVJPEG_INVALID_PARAMETER;
}

EXPORT int nvjpegDecodeBatched(void *handle, void *state, const unsigned char *const *data,
                               const size_t *lengths, struct stk_nvjpeg_image *to, void *stream);
EXPORT int nvjpegDecodeBatched(void *handle, void *state, const unsigned char *const *data,
                               const size_t *lengths, struct stk_nvjpeg_image *to, void *stream)
{
    BEGIN();
    (void)handle;
    struct thing *thing = state;
    cuda_world()->wild += thing->is_under_way || thing->count == 0;
    struct batch *batch = malloc(sizeof *batch + (size_t)thing->count * sizeof *batch->of);
    batch->state = thing;
    batch->count = thing->count;
    for (int i = 0; i < thing->count; i++) {
        batch->of[i] = (struct one){data[i], lengths[i], to[i]};
    }
    thing->is_under_way = true;
    result = told(cuLaunchHostFunc(stream, decode_batch, batch));
    if (result != 0) {
        thing->is_under_way = false;
        free(batch);
    }
    return result;
}
