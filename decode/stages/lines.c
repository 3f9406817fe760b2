/* Groups of rows as libjpeg hands them over, line by line to the kernel. */
#include "decode/stages/lines.h"

/*
 * A line of a group of rows. Chroma of half the rows: a line is three parts of its nearest row and
 * one of the next nearest, which may belong to the group above or below.
 */
static void make_line(const struct stk_lines *lines, JSAMPIMAGE in, JDIMENSION group,
                      JDIMENSION number, uint8_t *out)
{
    struct stk_line line = lines->line;
    JDIMENSION luma_rows = (JDIMENSION)lines->luma_rows;
    bool shared = lines->rows < luma_rows;
    ptrdiff_t row = (ptrdiff_t)group * lines->rows + (shared ? number / 2 : number);
    ptrdiff_t other = !shared ? row : number % 2 ? row + 1 : row - 1;
    line.luma = in[0][group * luma_rows + number];
    for (int c = 0; c < 2; c++) {
        line.chroma[c] = in[1 + c][row];
        line.other[c] = in[1 + c][other];
    }
    lines->colour(out, &line);
}

/*
 * As many lines of one group as there is room for. Where the last call ended is known by the number
 * of the line. When lines are read to be skipped, libjpeg puts another function in place of the one
 * that makes colours.
 */
static void post_process(j_decompress_ptr cinfo, JSAMPIMAGE in, JDIMENSION *group,
                         JDIMENSION groups, JSAMPARRAY out, JDIMENSION *out_row,
                         JDIMENSION out_rows)
{
    struct stk_lines *lines = (struct stk_lines *)(void *)cinfo->post;
    bool wanted = cinfo->cconvert->color_convert == lines->convert;
    JDIMENSION line = cinfo->output_scanline + *out_row;
    JDIMENSION number = line % lines->luma_rows;
    (void)groups;
    while (number < lines->luma_rows && *out_row < out_rows && line < cinfo->output_height) {
        if (wanted) {
            make_line(lines, in, *group, number, out[*out_row]);
        }
        number++;
        line++;
        ++*out_row;
    }
    *group += number == lines->luma_rows;
}

/* Three components of eight bits, luma at full size, both of chroma with the same factors. */
static bool is_known(const struct jpeg_decompress_struct *cinfo)
{
    const jpeg_component_info *of = cinfo->comp_info;
    J_COLOR_SPACE to = cinfo->out_color_space;
    return cinfo->jpeg_color_space == JCS_YCbCr && cinfo->num_components == 3 &&
           cinfo->scale_denom == 1 &&
           (to == JCS_EXT_RGB || to == JCS_EXT_BGR || to == JCS_EXT_RGBX) &&
           cinfo->data_precision == 8 && cinfo->do_fancy_upsampling && !cinfo->quantize_colors &&
           !cinfo->buffered_image && !cinfo->raw_data_out &&
           of[0].h_samp_factor == cinfo->max_h_samp_factor &&
           of[0].v_samp_factor == cinfo->max_v_samp_factor &&
           of[1].h_samp_factor == of[2].h_samp_factor &&
           of[1].v_samp_factor == of[2].v_samp_factor &&
           of[1].downsampled_width == of[2].downsampled_width;
}

/* How chroma gets its columns: false for all ways but these. */
static bool set_columns(struct stk_lines *lines, const struct jpeg_decompress_struct *cinfo,
                        bool shared)
{
    const jpeg_component_info *chroma = &cinfo->comp_info[1];
    struct stk_line *line = &lines->line;
    if (chroma->h_samp_factor == cinfo->max_h_samp_factor) {
        return !shared && chroma->downsampled_width >= cinfo->output_width;
    }
    /* With so few columns libjpeg repeats each sample. */
    if (chroma->h_samp_factor * 2 != cinfo->max_h_samp_factor || chroma->downsampled_width <= 2 ||
        chroma->downsampled_width != (cinfo->output_width + 1) / 2) {
        return false;
    }
    line->samples = chroma->downsampled_width;
    line->round[0] = shared ? 8 : 4;
    line->round[1] = shared ? 7 : 8;
    return true;
}

static bool set_shape(struct stk_lines *lines, const struct jpeg_decompress_struct *cinfo)
{
    int rows = cinfo->comp_info[1].v_samp_factor, most = cinfo->max_v_samp_factor;
    lines->rows = (JDIMENSION)rows;
    lines->luma_rows = (JDIMENSION)most;
    lines->line.pixels = cinfo->output_width;
    lines->line.bytes = cinfo->out_color_space == JCS_EXT_RGBX ? 4 : 3;
    lines->line.blue_first = cinfo->out_color_space == JCS_EXT_BGR;
    return (rows == most || (rows * 2 == most && cinfo->upsample->need_context_rows)) &&
           set_columns(lines, cinfo, rows != most);
}

void stk_lines_start(struct stk_lines *lines, const struct stk_kernels *kernels,
                     struct jpeg_decompress_struct *cinfo)
{
    if (!kernels->colour || !is_known(cinfo)) {
        return;
    }
    *lines = (struct stk_lines){
        .pub = *cinfo->post,
        .convert = cinfo->cconvert->color_convert,
        .colour = kernels->colour,
    };
    if (set_shape(lines, cinfo)) {
        lines->pub.post_process_data = post_process;
        cinfo->post = &lines->pub;
    }
}
