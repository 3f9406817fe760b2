/*
 * Entropy decoding alone, by libjpeg and by our own parser, in nanoseconds of the thread.
 *
 *     entropy CURSORS FILE...
 *
 * Prints one line for each step, its name and the mean over the files in each slice: `libjpeg` its
 * Huffman decoder to blocks; `parse` ours to coefficients; `play` those to blocks. The steps take
 * turns file by file.
 */
#define PROGRAM "entropy"
#include "bench/programs/common.h"

#include <string.h>

#include "decode/entropy/entropy.h"

#include <jpegint.h>

#define SLICES 25

static struct stk_entropy *entropy;
static JBLOCK mcu[D_MAX_BLOCKS_IN_MCU];

static void start(struct jpeg_decompress_struct *cinfo, struct jpeg_error_mgr *errors,
                  const struct file *file)
{
    cinfo->err = jpeg_std_error(errors);
    jpeg_create_decompress(cinfo);
    jpeg_mem_src(cinfo, file->bytes, file->size);
    jpeg_read_header(cinfo, TRUE);
    jpeg_start_decompress(cinfo);
}

static double read_all_mcus(struct jpeg_decompress_struct *cinfo)
{
    JBLOCKROW blocks[D_MAX_BLOCKS_IN_MCU];
    for (int i = 0; i < D_MAX_BLOCKS_IN_MCU; i++) {
        blocks[i] = &mcu[i];
    }
    double begin = now_ns();
    for (JDIMENSION left = cinfo->MCUs_per_row * cinfo->MCU_rows_in_scan; left > 0; left--) {
        memset(mcu, 0, (size_t)cinfo->blocks_in_MCU * sizeof(JBLOCK));
        cinfo->entropy->decode_mcu(cinfo, blocks);
    }
    return now_ns() - begin;
}

/* Adds up libjpeg, parse, play. */
static void measure(const struct file *file, double out[3])
{
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    start(&cinfo, &errors, file);
    double begin = now_ns();
    bool parsed = stk_entropy_parse(entropy, &cinfo, cinfo.image_height);
    out[1] += now_ns() - begin;
    out[0] += read_all_mcus(&cinfo);
    if (parsed) {
        stk_entropy_play(entropy, &cinfo);
        out[2] += read_all_mcus(&cinfo);
    }
    jpeg_destroy_decompress(&cinfo);
    if (!parsed) {
        fail("not parsed", "");
    }
}

int main(int count, char **arguments)
{
    static const char *const names[] = {"libjpeg", "parse", "play"};
    static double slices[SLICES][3];
    if (count < 3) {
        fail("usage: entropy", "CURSORS FILE...");
    }
    setenv("STOKER_CURSORS", arguments[1], 1);
    entropy = stk_entropy_new(stk_kernels_select());
    for (int i = 2; i < count; i++) {
        struct file file = read_file(arguments[i]);
        for (int slice = -1; slice < SLICES; slice++) {
            double sums[3] = {0};
            measure(&file, sums);
            for (int step = 0; slice >= 0 && step < 3; step++) {
                slices[slice][step] += sums[step] / (count - 2);
            }
        }
        free(file.bytes);
    }
    for (int step = 0; step < 3; step++) {
        printf("%s", names[step]);
        for (int slice = 0; slice < SLICES; slice++) {
            printf(" %.0f", slices[slice][step]);
        }
        putchar('\n');
    }
    return 0;
}
