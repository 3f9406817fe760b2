/* The types of decode/decode.h: plans, targets, images, forms, and what is known of a JPEG. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum stk_filter {
    STK_FILTER_NEAREST,
    STK_FILTER_BOX,
    STK_FILTER_BILINEAR,
    STK_FILTER_HAMMING,
    STK_FILTER_BICUBIC,
    STK_FILTER_LANCZOS,
    /* torch's bilinear one of floats, whose sums are rounded to bytes at the end, with any resizer.
     * For three channels and the whole crop. */
    STK_FILTER_BILINEAR_FLOATS,
};

/*
 * The library whose pixels a resize makes: Pillow of a version, or torch. They differ in which pass
 * comes first, and that shows in the pixels. w x h is the size of the crop, ow x oh that of the
 * result.
 */
enum stk_resizer {
    STK_RESIZER_HORIZONTAL,      /* to 12.1: always the horizontal one */
    STK_RESIZER_TALL_VERTICAL,   /* 12.2 and 12.3: the vertical one if h > 100 w and oh < h */
    STK_RESIZER_SHRINK_VERTICAL, /* from 13.0: if h - oh is above 0 and above 2 (w - ow) */
    STK_RESIZER_TORCH, /* torch's of bytes: the horizontal one, and weights have 16 bits */
};

/* BGR is HWC with blue first: only for bytes of whole rows of three channels that are not resized.
 */
enum stk_layout { STK_LAYOUT_HWC, STK_LAYOUT_CHW, STK_LAYOUT_BGR };
enum stk_type { STK_TYPE_U8, STK_TYPE_F32 };
enum { STK_FLIP_HORIZONTAL = 1, STK_FLIP_VERTICAL = 2, STK_EXCHANGE_AXES = 4 };

enum {
    STK_DECODE_OK = 0,
    STK_DECODE_CORRUPT = -1,     /* damaged, cut short, or anything that libjpeg warns about */
    STK_DECODE_UNSUPPORTED = -2, /* a JPEG that is not decoded here: see stk_decode() */
    STK_DECODE_MEMORY = -3,      /* no memory, or the image would take more than it may */
    STK_DECODE_ARGUMENT = -4,    /* the plan, the image or the target makes no sense */
};

/* The file's own colours. Grey, YCbCr and RGB are decoded here. */
enum stk_color {
    STK_COLOR_GREY,
    STK_COLOR_YCBCR,
    STK_COLOR_RGB,
    STK_COLOR_CMYK,
    STK_COLOR_YCCK,
    STK_COLOR_OTHER,
};

struct stk_jpeg_info {
    uint32_t width, height; /* in pixels, as stored: EXIF orientation is the caller's matter */
    uint32_t components;    /* of the file: 1 grey, 3 colours */
    enum stk_color color;
    uint8_t precision;   /* bits of a sample */
    uint8_t progressive; /* 0 or 1, like the next two */
    uint8_t arithmetic;
    uint8_t multiscan; /* more than one scan */
    size_t end;        /* offset behind the EOI marker; 0: none is in its place */
};

/* The steps, in this order: decode, turn, crop, resize, take the window, flip, lay out. */
struct stk_plan {
    int32_t crop[4];        /* left, top, right, bottom: inside of the turned image, not empty */
    uint32_t width, height; /* to resize to; if it is the box's size, pixels are copied */
    float box[4]; /* the part that is resized, in the crop's coordinates: {0, 0, cw, ch} for all of
                     it */
    enum stk_filter filter;
    enum stk_resizer resizer;
    unsigned flip; /* any of STK_FLIP_* */
    /*
     * 1: grey, or the luma of a YCbCr image as libjpeg's grey is. The luma is to be had in bytes of
     * whole rows that are not resized; else UNSUPPORTED, as RGB images are. 3: RGB. 4: RGB and the
     * byte that Pillow stores in images of mode RGB: 255, and 0 after a resize by any filter but
     * the nearest.
     */
    uint32_t channels;
    enum stk_layout layout;
    enum stk_type type;
    /* STK_TYPE_F32: channels x 256 values of stk_decode_table(); else unused */
    const float *table;
    /*
     * Left, top, right, bottom of the window of the resized image that is the result. Only the
     * pixels that it needs are decoded and resized. All zero: the whole image.
     */
    uint32_t window[4];
    /*
     * The turn of the whole image, before all else: any of STK_FLIP_*, then STK_EXCHANGE_AXES. Only
     * for a JPEG of which three or four channels are wanted. If the axes are exchanged, it needs
     * memory for two results of four bytes a pixel.
     */
    unsigned turn;
    /*
     * 2, 4 or 8: the image that libjpeg makes of so many times fewer columns and rows, rounded up,
     * in the place of the JPEG's own. Only for a whole one that is neither turned nor resized, in
     * bytes of whole rows; else UNSUPPORTED. 0: the JPEG's own.
     */
    uint32_t scale;
    /* The end of these bytes as stk_decode_examine() found it, so that stk_decode() need not look
     * for it; 0: not known. */
    size_t end;
};

/* The caller's memory for the pixels. Strides are in bytes; for floats all are multiples of 4. */
struct stk_target {
    void *data;
    size_t row_bytes;   /* from one row to the next */
    size_t plane_bytes; /* STK_LAYOUT_CHW: from one channel to the next; else unused */
    size_t bytes;       /* of data: nothing behind them is written, and too few are an ARGUMENT */
    /* Floats go past the caches where the kernel can do that: for pixels that are not read soon.
     * Before another thread learns of them there must be a fence (atomic_thread_fence,
     * memory_order_seq_cst). */
    bool streamed;
};

/* Decoded pixels: rows of 1, 3 or 4 bytes a pixel. */
struct stk_image {
    const void *data;
    uint32_t width, height, channels;
    size_t row_bytes;
    const void *const *rows; /* the beginning of each row; NULL: rows of row_bytes from data on */
    uint32_t
        unused; /* 1: the last of four channels means nothing, and a resize makes it 0. Else 0 */
};

struct stk_region {
    uint32_t left, top, width, height;
};

/*
 * A file's form, its packed coefficients (docs/coefficient-form.md): all that the file holds, in
 * about as many bytes, and decoded in a part of the time. All processors make equal forms.
 */
struct stk_form {
    const void *data;
    size_t bytes;
};
/* The version of a form's layout. A store must keep the forms of each version apart. */
#define STK_FORM_VERSION 1

/* A form's description of its file. */
struct stk_form_source {
    struct stk_jpeg_info info; /* as stk_decode_examine() found it */
    /* The file's first bytes, up to and including its first SOS segment. They lie in the form. */
    const void *header;
    size_t header_bytes;
    uint64_t file_bytes;
};
