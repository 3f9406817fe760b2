/*
 * Counts of what photographs are made of, and the speed of the processor's clock, so that times
 * become cycles for each symbol, block and pixel.
 *
 *     symbols FILE...
 *
 * Prints `symbols`, `blocks` and `pixels`, the mean of the files, and `GHz`: additions that wait
 * for each other, each of which takes one cycle.
 */
#define PROGRAM "symbols"
#include "bench/programs/common.h"

#include <jpeglib.h>

#include "decode/common/zigzag.h"

#define ADDITIONS 20000000
#define TRIES     20

/* DC, each value with the zeros before it, each sixteen zeros beyond these, and the block's end. */
static unsigned count_symbols(const JCOEF *block)
{
    unsigned symbols = 1, zeros = 0;
    for (unsigned i = 1; i < DCTSIZE2; i++) {
        if (block[stk_zigzag[i]] == 0) {
            zeros++;
        } else {
            symbols += 1 + zeros / 16;
            zeros = 0;
        }
    }
    return symbols + (zeros > 0);
}

struct counts {
    double symbols, blocks, pixels;
};

static void count_file(const struct file *file, struct counts *counts)
{
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    cinfo.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&cinfo);
    jpeg_mem_src(&cinfo, file->bytes, file->size);
    jpeg_read_header(&cinfo, TRUE);
    jvirt_barray_ptr *arrays = jpeg_read_coefficients(&cinfo);
    for (int c = 0; c < cinfo.num_components; c++) {
        const jpeg_component_info *component = &cinfo.comp_info[c];
        for (JDIMENSION y = 0; y < component->height_in_blocks; y++) {
            JBLOCKARRAY row =
                cinfo.mem->access_virt_barray((j_common_ptr)&cinfo, arrays[c], y, 1, FALSE);
            for (JDIMENSION x = 0; x < component->width_in_blocks; x++) {
                counts->symbols += count_symbols(row[0][x]);
            }
        }
        counts->blocks += (double)component->width_in_blocks * component->height_in_blocks;
    }
    counts->pixels += (double)cinfo.image_width * cinfo.image_height;
    jpeg_destroy_decompress(&cinfo);
}

/* The fastest of many: what is in between is not the processor's. */
static double measure_ghz(void)
{
    double best = 0;
    for (int i = 0; i < TRIES; i++) {
        unsigned long sum = 0;
        double begin = now_ns();
        for (long n = 0; n < ADDITIONS; n++) {
            sum++;
            __asm__ volatile("" : "+r"(sum));
        }
        double ghz = ADDITIONS / (now_ns() - begin);
        best = ghz > best ? ghz : best;
    }
    return best;
}

int main(int argument_count, char **arguments)
{
    struct counts counts = {0};
    if (argument_count < 2) {
        fail("usage: symbols", "FILE...");
    }
    for (int i = 1; i < argument_count; i++) {
        struct file file = read_file(arguments[i]);
        count_file(&file, &counts);
        free(file.bytes);
    }
    double files = argument_count - 1;
    printf("symbols: %.1f\nblocks: %.1f\npixels: %.1f\nGHz: %.3f\n", counts.symbols / files,
           counts.blocks / files, counts.pixels / files, measure_ghz());
    return 0;
}
