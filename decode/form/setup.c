/*
 * Makes a header by which libjpeg decodes in one sequential scan an image that came in several. It
 * has the file's components, and the segments from which libjpeg guesses the colours. Each
 * component has the table of quantisation that it had when its first scan began.
 */
#include "decode/form/form_make.h"

#include <string.h>

#include "decode/common/zigzag.h"

static void put(struct stk_setup *setup, unsigned byte)
{
    setup->bytes[setup->used++] = (uint8_t)byte;
}

static void put_two(struct stk_setup *setup, unsigned number)
{
    put(setup, number >> 8);
    put(setup, number & 0xff);
}

static void put_segment(struct stk_setup *setup, unsigned marker, unsigned bytes)
{
    put(setup, 0xff);
    put(setup, marker);
    put_two(setup, bytes + 2);
}

static void put_bytes(struct stk_setup *setup, const char *bytes, size_t count)
{
    memcpy(setup->bytes + setup->used, bytes, count);
    setup->used += count;
}

static void put_colors(struct stk_setup *setup, const struct jpeg_decompress_struct *cinfo)
{
    if (cinfo->saw_JFIF_marker) {
        put_segment(setup, 0xe0, 14);
        put_bytes(setup, "JFIF\0\1\1\0\0\1\0\1\0\0", 14);
    }
    if (cinfo->saw_Adobe_marker) {
        put_segment(setup, 0xee, 12);
        put_bytes(setup, "Adobe\0\144\0\0\0\0", 11);
        put(setup, cinfo->Adobe_transform);
    }
}

static void put_table(struct stk_setup *setup, const JQUANT_TBL *table, unsigned number)
{
    unsigned wide = 0;
    for (int i = 0; i < DCTSIZE2; i++) {
        wide |= table->quantval[i] > 255;
    }
    put_segment(setup, 0xdb, 1 + DCTSIZE2 * (1 + wide));
    put(setup, wide << 4 | number);
    for (int i = 0; i < DCTSIZE2; i++) {
        unsigned value = table->quantval[stk_zigzag[i]];
        if (wide) {
            put(setup, value >> 8);
        }
        put(setup, value & 0xff);
    }
}

/* The number of the first component with the same table. */
static unsigned table_of(const struct jpeg_decompress_struct *cinfo, int component)
{
    const jpeg_component_info *all = cinfo->comp_info;
    int same = 0;
    while (memcmp(all[same].quant_table->quantval, all[component].quant_table->quantval,
                  sizeof all->quant_table->quantval) != 0) {
        same++;
    }
    return (unsigned)same;
}

static void put_frame(struct stk_setup *setup, const struct jpeg_decompress_struct *cinfo)
{
    put_segment(setup, 0xc0, 6 + 3 * (unsigned)cinfo->num_components);
    put(setup, 8);
    put_two(setup, cinfo->image_height);
    put_two(setup, cinfo->image_width);
    put(setup, (unsigned)cinfo->num_components);
    for (int c = 0; c < cinfo->num_components; c++) {
        const jpeg_component_info *component = &cinfo->comp_info[c];
        put(setup, (unsigned)component->component_id);
        put(setup, (unsigned)(component->h_samp_factor << 4 | component->v_samp_factor));
        put(setup, table_of(cinfo, c));
    }
}

static void put_scan(struct stk_setup *setup, const struct jpeg_decompress_struct *cinfo)
{
    put_segment(setup, 0xda, 4 + 2 * (unsigned)cinfo->num_components);
    put(setup, (unsigned)cinfo->num_components);
    for (int c = 0; c < cinfo->num_components; c++) {
        put(setup, (unsigned)cinfo->comp_info[c].component_id);
        put(setup, 0);
    }
    put(setup, 0);
    put(setup, DCTSIZE2 - 1);
    put(setup, 0);
}

void stk_setup_make(struct stk_setup *setup, const struct jpeg_decompress_struct *cinfo)
{
    setup->used = 0;
    put_two(setup, 0xffd8);
    put_colors(setup, cinfo);
    for (int c = 0; c < cinfo->num_components; c++) {
        if (table_of(cinfo, c) == (unsigned)c) {
            put_table(setup, cinfo->comp_info[c].quant_table, (unsigned)c);
        }
    }
    put_frame(setup, cinfo);
    put_scan(setup, cinfo);
}
