/*
 * The kernel, for the device and for this processor: bytes of images in, normalised numbers out. It
 * is compiled by nvcc (kernel.cu, with device.h) and by the C compiler (with host.h). So its
 * indices, bounds, tails and rounding are tested without a device. Include one of these two headers
 * before it.
 *
 * A thread makes some pixels of one row that lie side by side, as many as make 16 bytes of one
 * channel. If all aligned words of their bytes lie within the image, it loads words; at the image's
 * edges it loads bytes. It never reads a byte outside the image. It stores 16 bytes at once if they
 * are aligned, else number by number. The type, the layout and the channels are constants wherever
 * it is inlined, so arrays here are registers.
 *
 * The arithmetic is torch's: (byte / 255 - mean) / std in single precision, each step rounded once.
 */
#pragma once

#include "gpu/job.h"

#define STK_GPU_GROUP 8U                                 /* pixels of a thread, at most */
#define STK_GPU_MOST  (STK_GPU_GROUP * STK_GPU_CHANNELS) /* numbers of a thread, at most */

/* ---- arithmetic ---- */

/*
 * Returns a / b in two steps: 1 / b is the sum of `inverse` and of `rest`, which has its further
 * digits, and the sum of both products is rounded once. It is right for all but a few b; plan.c
 * gives an inverse only after it has tried all 256 bytes.
 */
STK_GPU_CODE float stk_gpu_divide(float a, float inverse, float rest)
{
    return stk_gpu_fma(a, inverse, a * rest);
}

#define STK_GPU_255TH      (1.0F / 255.0F)
#define STK_GPU_255TH_REST ((float)(1.0 / 255.0 - (double)STK_GPU_255TH))

/* Makes the number of a byte by the division that is right for all divisors. */
STK_GPU_CODE float stk_gpu_normal(float byte, float mean, float std)
{
    return (stk_gpu_divide(byte, STK_GPU_255TH, STK_GPU_255TH_REST) - mean) / std;
}

/* Makes the number of a byte by the inverse of the divisor. */
STK_GPU_CODE float stk_gpu_quick(float byte, float mean, float inverse, float rest)
{
    float unit = stk_gpu_divide(byte, STK_GPU_255TH, STK_GPU_255TH_REST);
    return stk_gpu_divide(unit - mean, inverse, rest);
}

STK_GPU_CODE uint32_t stk_gpu_convert(float value, enum stk_gpu_type type)
{
    if (type == STK_GPU_F32) {
        return stk_gpu_bits(value);
    }
    return type == STK_GPU_F16 ? stk_gpu_to_f16(value) : stk_gpu_to_bf16(value);
}

/* ---- sizes ---- */

STK_GPU_CODE uint32_t stk_gpu_type_bytes(enum stk_gpu_type type)
{
    return type == STK_GPU_F32 ? 4U : 2U;
}

/* Pixels that a thread makes. */
STK_GPU_CODE uint32_t stk_gpu_group(enum stk_gpu_type type)
{
    return STK_GPU_PACKET / stk_gpu_type_bytes(type);
}

/* Groups of pixels in a row, of which the last may be a part. */
STK_GPU_CODE uint32_t stk_gpu_row_groups(uint32_t width, enum stk_gpu_type type)
{
    return (width + stk_gpu_group(type) - 1U) / stk_gpu_group(type);
}

/* Blocks for one image; the grid has a row of them for each. */
STK_GPU_CODE uint32_t stk_gpu_blocks(uint32_t width, uint32_t height, enum stk_gpu_type type)
{
    return (stk_gpu_row_groups(width, type) * height + STK_GPU_THREADS - 1U) / STK_GPU_THREADS;
}

/* ---- loading ---- */

/* Some pixels of one row, side by side in the image. */
struct stk_gpu_span {
    int32_t row, column;    /* of the first one; both may lie outside of the image */
    uint32_t pixels, bytes; /* how many; of all of them */
};

/* Sides have 16 bits (gpu/plan.h), so a number below 0 is no less than any of them. */
STK_GPU_CODE bool stk_gpu_is_inside(const struct stk_gpu_image *image, int32_t row, int32_t column)
{
    return (uint32_t)row < image->height && (uint32_t)column < image->width;
}

/* The address of one of an image's pixels. */
STK_GPU_CODE uint64_t stk_gpu_pixel(const struct stk_gpu_image *image, uint32_t channels,
                                    int32_t row, int32_t column)
{
    return image->pixels + (uint64_t)(uint32_t)row * image->stride + (uint32_t)column * channels;
}

/* Returns true if all pixels of the span, and all words that they lie in, are the image's. */
STK_GPU_CODE bool stk_gpu_is_whole(const struct stk_gpu_image *image, uint32_t channels,
                                   const struct stk_gpu_span *span)
{
    int32_t last = span->column + (int32_t)span->pixels - 1;
    if (!stk_gpu_is_inside(image, span->row, span->column) || last >= (int32_t)image->width) {
        return false;
    }
    uint64_t from = stk_gpu_pixel(image, channels, span->row, span->column);
    uint64_t end =
        stk_gpu_pixel(image, channels, (int32_t)(image->height - 1U), (int32_t)image->width);
    return (from & ~UINT64_C(3)) >= image->pixels &&
           ((from + span->bytes + 3U) & ~UINT64_C(3)) <= end;
}

/* Loads bytes from any address as words: it loads aligned words and shifts them into place. */
STK_GPU_CODE void stk_gpu_load_words(uint64_t from, uint32_t bytes, uint32_t *words)
{
    uint32_t shift = (uint32_t)(from & 3U) * 8U, count = bytes / 4U;
    uint64_t at = from & ~UINT64_C(3);
    uint32_t low = stk_gpu_load(at);
    STK_GPU_UNROLL
    for (uint32_t i = 0; i < count; i++) {
        uint32_t high = i + 1U < count || shift != 0 ? stk_gpu_load(at + 4U * (i + 1U)) : 0U;
        words[i] = (uint32_t)(((uint64_t)high << 32 | low) >> shift);
        low = high;
    }
}

/* Loads a span at an image's edges, byte by byte. */
STK_GPU_CODE void stk_gpu_load_bytes(const struct stk_gpu_image *image, const uint8_t *fill,
                                     uint32_t channels, const struct stk_gpu_span *span,
                                     uint32_t *words)
{
    STK_GPU_UNROLL
    for (uint32_t i = 0; i < span->bytes / 4U; i++) {
        words[i] = 0;
    }
    STK_GPU_UNROLL
    for (uint32_t i = 0; i < span->bytes; i++) {
        int32_t column = span->column + (int32_t)(i / channels);
        uint32_t byte = fill[i % channels];
        if (stk_gpu_is_inside(image, span->row, column)) {
            byte =
                stk_gpu_load_byte(stk_gpu_pixel(image, channels, span->row, column) + i % channels);
        }
        words[i / 4U] |= byte << i % 4U * 8U;
    }
}

/* ---- one thread ---- */

/* The pixels that a thread makes. */
struct stk_gpu_place {
    uint32_t image, row, column;
    uint32_t count;  /* of pixels: less than a group at the end of a row */
    uint32_t behind; /* groups of the image from this one on */
};

/* Returns the channel whose mean, std and fill an image's first channel has. It is not 0 only if
 * the image is one channel of several. */
STK_GPU_CODE uint32_t stk_gpu_share(const struct stk_gpu_job *job, uint32_t channels,
                                    uint32_t image)
{
    return channels == 1U ? image % job->planes : 0U;
}

/* Exchanges left and right of a group's pixels. */
STK_GPU_CODE void stk_gpu_mirror(uint32_t pixels, uint32_t channels, uint32_t *words)
{
    uint32_t mirrored[STK_GPU_MOST / 4U];
    STK_GPU_UNROLL
    for (uint32_t i = 0; i < pixels * channels; i++) {
        uint32_t there = (pixels - 1U - i / channels) * channels + i % channels;
        uint32_t byte = words[there / 4U] >> there % 4U * 8U & 255U;
        mirrored[i / 4U] = i % 4U == 0 ? byte : mirrored[i / 4U] | byte << i % 4U * 8U;
    }
    STK_GPU_UNROLL
    for (uint32_t i = 0; i < pixels * channels / 4U; i++) {
        words[i] = mirrored[i];
    }
}

/* Makes the numbers of a group's bytes. `is_quick` chooses the division once for all of them. */
STK_GPU_CODE void stk_gpu_number(const struct stk_gpu_job *job, uint32_t channels, uint32_t count,
                                 uint32_t share, bool is_quick, const uint32_t *words,
                                 float *numbers)
{
    STK_GPU_UNROLL
    for (uint32_t i = 0; i < count; i++) {
        uint32_t c = share + i % channels;
        float byte = stk_gpu_byte(words[i / 4U], i % 4U);
        numbers[i] = is_quick ? stk_gpu_quick(byte, job->mean[c], job->inverse[c], job->rest[c])
                              : stk_gpu_normal(byte, job->mean[c], job->std[c]);
    }
}

/* Makes the numbers of the place's pixels, in the order of the window. */
STK_GPU_CODE void stk_gpu_make(const struct stk_gpu_job *job, enum stk_gpu_type type,
                               uint32_t channels, const struct stk_gpu_place *place, float *numbers)
{
    struct stk_gpu_image image = stk_gpu_load_image(job->images, place->image);
    uint32_t share = stk_gpu_share(job, channels, place->image);
    uint32_t group = stk_gpu_group(type), words[STK_GPU_MOST / 4U];
    uint32_t column = image.flip ? job->width - place->column - group : place->column;
    struct stk_gpu_span span = {image.top + (int32_t)place->row, image.left + (int32_t)column,
                                group, group * channels};
    if (stk_gpu_is_whole(&image, channels, &span)) {
        stk_gpu_load_words(stk_gpu_pixel(&image, channels, span.row, span.column), span.bytes,
                           words);
    } else {
        stk_gpu_load_bytes(&image, job->fill + share, channels, &span, words);
    }
    if (image.flip) {
        stk_gpu_mirror(group, channels, words);
    }
    if (job->inverse[0] != 0) {
        stk_gpu_number(job, channels, span.bytes, share, true, words, numbers);
    } else {
        stk_gpu_number(job, channels, span.bytes, share, false, words, numbers);
    }
}

/* ---- storing ---- */

/* Makes 16 bytes of as many numbers as that takes. */
STK_GPU_CODE void stk_gpu_pack(enum stk_gpu_type type, const float *numbers, uint32_t *packet)
{
    STK_GPU_UNROLL
    for (uint32_t i = 0; i < 4U; i++) {
        packet[i] = type == STK_GPU_F32 ? stk_gpu_bits(numbers[i])
                                        : stk_gpu_pair(numbers[2U * i], numbers[2U * i + 1U], type);
    }
}

/* Stores the first `count` of a group's numbers, which lie side by side. */
STK_GPU_CODE void stk_gpu_store(uint64_t to, enum stk_gpu_type type, const float *numbers,
                                uint32_t count)
{
    uint32_t group = stk_gpu_group(type), bytes = stk_gpu_type_bytes(type), packet[4];
    if (count >= group && to % STK_GPU_PACKET == 0) {
        stk_gpu_pack(type, numbers, packet);
        stk_gpu_store_packet(to, packet);
        return;
    }
    STK_GPU_UNROLL
    for (uint32_t i = 0; i < group; i++) {
        if (i < count) {
            stk_gpu_store_number(to + i * bytes, stk_gpu_convert(numbers[i], type), bytes);
        }
    }
}

/* Stores each channel in its own plane. */
STK_GPU_CODE void stk_gpu_store_planes(const struct stk_gpu_job *job, enum stk_gpu_type type,
                                       uint32_t channels, const struct stk_gpu_place *place,
                                       const float *numbers)
{
    uint32_t group = stk_gpu_group(type);
    float one[STK_GPU_GROUP];
    STK_GPU_UNROLL
    for (uint32_t c = 0; c < channels; c++) {
        uint64_t plane = (uint64_t)place->image * channels + c;
        uint64_t row = plane * job->height + place->row;
        STK_GPU_UNROLL
        for (uint32_t i = 0; i < group; i++) {
            one[i] = numbers[i * channels + c];
        }
        stk_gpu_store(job->out + (row * job->width + place->column) * stk_gpu_type_bytes(type),
                      type, one, place->count);
    }
}

/* Stores the channels of a pixel side by side. Groups that are all whole lie one behind the other,
 * row by row, and are stored by all threads together. */
STK_GPU_CODE void stk_gpu_store_pixels(const struct stk_gpu_job *job, enum stk_gpu_type type,
                                       uint32_t channels, const struct stk_gpu_place *place,
                                       const float *numbers)
{
    uint32_t group = stk_gpu_group(type), count = place->count * channels;
    uint64_t row = (uint64_t)place->image * job->height + place->row;
    uint64_t to =
        job->out + (row * job->width + place->column) * channels * stk_gpu_type_bytes(type);
    bool is_together = channels > 1U && job->width % group == 0 && job->out % STK_GPU_PACKET == 0;
    uint32_t packets[4U * STK_GPU_CHANNELS];
    STK_GPU_UNROLL
    for (uint32_t i = 0; i < channels; i++) {
        uint32_t done = i * group;
        if (is_together) {
            stk_gpu_pack(type, numbers + done, packets + 4U * i);
        } else {
            stk_gpu_store(to + done * stk_gpu_type_bytes(type), type, numbers + done,
                          count > done ? count - done : 0U);
        }
    }
    if (is_together) {
        stk_gpu_store_together(to, packets, channels, place->behind);
    }
}

/* Does all the work of one thread: `block` counts within the image, `thread` within the block. */
STK_GPU_CODE void stk_gpu_thread(const struct stk_gpu_job *job, enum stk_gpu_type type,
                                 enum stk_gpu_layout layout, uint32_t channels, uint32_t image,
                                 uint32_t block, uint32_t thread)
{
    uint32_t groups = stk_gpu_row_groups(job->width, type);
    uint32_t index = block * STK_GPU_THREADS + thread;
    uint32_t row = index / groups, column = index % groups * stk_gpu_group(type);
    if (row >= job->height) {
        return;
    }
    uint32_t left = job->width - column;
    float numbers[STK_GPU_MOST];
    struct stk_gpu_place place = {image, row, column,
                                  left < stk_gpu_group(type) ? left : stk_gpu_group(type),
                                  groups * job->height - index};
    stk_gpu_make(job, type, channels, &place, numbers);
    if (layout == STK_GPU_NCHW) {
        stk_gpu_store_planes(job, type, channels, &place, numbers);
    } else {
        stk_gpu_store_pixels(job, type, channels, &place, numbers);
    }
}
