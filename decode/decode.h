/*
 * JPEG bytes and a plan in, pixels out: the same as Pillow's, bit for bit.
 *
 * A decoder holds all state and all scratch memory: there are no globals, nothing is printed, no
 * exit and no signal is involved. One thread at a time may use a decoder; different decoders are
 * independent. After a fork the child may go on using its copy. Not for signal handlers. A decoder
 * keeps the scratch memory of the largest plan it saw (a few rows), 300 KB of tables, and of an
 * image's coefficients and form what one of a few megapixels needs; libjpeg's own needs are given
 * back after each image.
 *
 * Every error is negative and means "not decoded": the target then holds anything, and the caller
 * lets the reference library decode the same bytes, so that its pixels, warnings and errors are the
 * ones that are seen. No error is remembered: the next image starts afresh.
 */
#ifndef STK_DECODE_DECODE_H
#define STK_DECODE_DECODE_H

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
};

/*
 * Which pass of a resize comes first. It shows in the pixels, and depends on the version of Pillow
 * that is to be equalled; w x h is the size of the crop, ow x oh that of the result.
 */
enum stk_pass_order {
    STK_ORDER_HORIZONTAL,      /* to 12.1: always the horizontal one */
    STK_ORDER_TALL_VERTICAL,   /* 12.2 and 12.3: the vertical one if h > 100 w and oh < h */
    STK_ORDER_SHRINK_VERTICAL, /* from 13.0: if h - oh is above 0 and above 2 (w - ow) */
};

enum stk_layout { STK_LAYOUT_HWC, STK_LAYOUT_CHW };
enum stk_type { STK_TYPE_U8, STK_TYPE_F32 };
enum { STK_FLIP_HORIZONTAL = 1, STK_FLIP_VERTICAL = 2 };

enum {
    STK_DECODE_OK = 0,
    STK_DECODE_CORRUPT = -1,     /* damaged, cut short, or anything that libjpeg warns about */
    STK_DECODE_UNSUPPORTED = -2, /* no JPEG that is decoded here: see stk_decode() */
    STK_DECODE_MEMORY = -3,      /* no memory, or more of it than an image may have */
    STK_DECODE_ARGUMENT = -4,    /* the plan, the image or the target makes no sense */
};

/* The file's own colours. What is decoded here: grey, YCbCr and RGB. */
enum stk_color {
    STK_COLOR_GREY,
    STK_COLOR_YCBCR,
    STK_COLOR_RGB,
    STK_COLOR_CMYK,
    STK_COLOR_YCCK,
    STK_COLOR_OTHER,
};

struct stk_jpeg_info {
    uint32_t width, height; /* in pixels, as stored: EXIF orientation is the caller's */
    uint32_t components;    /* of the file: 1 grey, 3 colours */
    enum stk_color color;
    uint8_t precision;   /* bits a sample */
    uint8_t progressive; /* 0 or 1, as the two below */
    uint8_t arithmetic;
    uint8_t multiscan; /* more than one scan */
    size_t end;        /* offset behind the EOI marker; 0: there is none where it has to be */
};

/* What is done, in this order: decode, crop, resize, take the window, flip, lay out. */
struct stk_plan {
    int32_t crop[4];        /* left, top, right, bottom in the image: inside of it, not empty */
    uint32_t width, height; /* to resize to; a size that is the box's copies instead */
    float box[4];           /* what is resized, in the crop's coordinates: {0, 0, cw, ch} for all */
    enum stk_filter filter;
    enum stk_pass_order order;
    unsigned flip; /* STK_FLIP_*, any of them */
    /*
     * 1: grey; of a colour image that is an UNSUPPORTED. 3: RGB. 4: RGB and a byte as Pillow stores
     * it in images of mode RGB: 255, and 0 behind a resize by any filter but the nearest.
     */
    uint32_t channels;
    enum stk_layout layout;
    enum stk_type type;
    /* STK_TYPE_F32: channels x 256 values, see stk_decode_table(); else unused */
    const float *table;
    /*
     * Left, top, right, bottom of what is wanted of the resized image; that is then the result, and
     * only what it needs is decoded and resized. All zero: the whole.
     */
    uint32_t window[4];
    /* Where stk_decode_probe() said that these bytes end, so that nobody has to look for it again;
     * 0: nobody has asked. */
    size_t end;
};

/* Where the pixels go: the caller's memory. Strides in bytes; for floats all are multiples of 4. */
struct stk_target {
    void *data;
    size_t row_bytes;   /* from a row to the next */
    size_t plane_bytes; /* STK_LAYOUT_CHW: from a channel to the next; else unused */
    size_t bytes;       /* of data: nothing behind it is touched, and too few are an ARGUMENT */
    /* Floats go past the caches where that can be done, since nobody reads them soon. Before
     * another thread is told of them there must be a fence (atomic_thread_fence,
     * memory_order_seq_cst). */
    bool streamed;
};

struct stk_decoder;
/* NULL: no memory. The caller owns it. */
struct stk_decoder *stk_decoder_new(void);
void stk_decoder_free(struct stk_decoder *decoder); /* NULL is fine */

/* What the frame header of a JPEG says; nothing else is looked at. False: ask stk_decode_probe().
 */
struct stk_frame {
    uint32_t width, height, components;
};
bool stk_decode_frame(const void *bytes, size_t size, struct stk_frame *out);

/*
 * Reads the header and looks for the end; no pixels. OK also for files that stk_decode() does not
 * take, as long as the header can be read.
 */
int stk_decode_probe(struct stk_decoder *decoder, const void *bytes, size_t size,
                     struct stk_jpeg_info *out);

/*
 * Decodes. The bytes must not change meanwhile. UNSUPPORTED are: CMYK, YCCK, two components, twelve
 * bits, lossless, progressive files that are not complete, more scans than any encoder makes.
 * Time is linear in the number of bytes and of pixels. Bytes behind the EOI marker are not looked
 * at.
 */
int stk_decode(struct stk_decoder *decoder, const void *bytes, size_t size,
               const struct stk_plan *plan, const struct stk_target *target);

/*
 * A file's coefficient form (docs/coefficient-form.md): all that the file holds, in about as many
 * bytes, and decoded in a part of the time. It is the same whatever the processor.
 */
struct stk_form {
    const void *data;
    size_t bytes;
};
/* Of its layout. Who keeps forms keeps those of each version apart. */
#define STK_FORM_VERSION 1

/*
 * As stk_decode(); besides, makes the file's form where it has one, else out->bytes is 0, which is
 * no error. The form lies in the decoder's memory until the decoder's next call. A file with
 * arithmetic coding is decoded as a whole, whatever the plan: damage anywhere makes it CORRUPT.
 */
int stk_decode_keep(struct stk_decoder *decoder, const void *bytes, size_t size,
                    const struct stk_plan *plan, const struct stk_target *target,
                    struct stk_form *out);

/*
 * The same pixels, from a form. The bytes may be any, and need not be aligned; they must not change
 * meanwhile. CORRUPT: no sound form. UNSUPPORTED: one of another version. What a form cannot tell
 * is whether it is that of the file: that is the business of who keeps it.
 */
int stk_decode_form(struct stk_decoder *decoder, const void *data, size_t bytes,
                    const struct stk_plan *plan, const struct stk_target *target);

/* What a form says of its file. */
struct stk_form_source {
    struct stk_jpeg_info info; /* what stk_decode_probe() said of it */
    /* The file's own first bytes, up to and including its first SOS segment; in the form. */
    const void *header;
    size_t header_bytes;
    uint64_t file_bytes;
};
/* Without decoding. Results as above. */
int stk_decode_probe_form(const void *data, size_t bytes, struct stk_form_source *out);

/* Pixels that are there already: rows of 1, 3 or 4 bytes a pixel. */
struct stk_image {
    const void *data;
    uint32_t width, height, channels;
    size_t row_bytes;
    const void *const *rows; /* where each row begins; NULL: at data, and row_bytes further on */
    uint32_t unused; /* 1: of four channels the last means nothing; a resize makes it 0. Else 0 */
};

/*
 * The same for an image. Its channels and the plan's: equal, or 1 -> 3, 1 -> 4, 3 -> 4, 4 -> 3;
 * from 4 to 4 the fourth is treated like the others (RGBA, CMYK), which does not premultiply. Image
 * and target must not overlap.
 */
int stk_transform(struct stk_decoder *decoder, const struct stk_image *image,
                  const struct stk_plan *plan, const struct stk_target *target);

/*
 * One channel's table: (x / 255 - mean) / std in float, rounded after each step as torch does it.
 * NULL leaves a step out.
 */
void stk_decode_table(float table[256], const float *mean, const float *std);

/*
 * Which code is at work: "avx512", "avx2", "neon" or "c", the best of this machine. STOKER_SIMD in
 * the environment names another one (for tests; ignored where the machine cannot do it). A decoder
 * looks at it when it is made, and at STOKER_ENTROPY and STOKER_CURSORS when it gets its first JPEG
 * (decode/entropy/entropy.h).
 */
const char *stk_decode_simd(void);

#endif
