/* Corpus, plans, pixels: see the header. */
#include "tests/fuzz/jpegs.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CORPUS "tests/fuzz/corpus/decode"

struct jpeg_input jpegs[MOST_FILES];
size_t jpeg_count;

/* ---- the corpus ---- */

static void read_file(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, CORPUS "/%s", name);
    FILE *stream = name[0] != '.' ? fopen(path, "rb") : NULL;
    if (stream != NULL && jpeg_count < MOST_FILES) {
        struct jpeg_input *file = &jpegs[jpeg_count++];
        file->length = fread(file->bytes, 1, sizeof file->bytes, stream);
    }
    if (stream != NULL) {
        fclose(stream);
    }
}

void read_jpegs(void)
{
    struct dirent **list;
    int count = scandir(CORPUS, &list, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        read_file(list[i]->d_name);
        free(list[i]);
    }
    if (count >= 0) {
        free(list);
    }
}

uint64_t mix(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

void damage(uint64_t *state, uint8_t *bytes, size_t length)
{
    static const uint8_t likely[] = {0, 1, 255, 0xd9, 0xda, 0xc4};
    for (size_t changes = mix(state) % 4; changes > 0; changes--) {
        size_t at = PLAN_BYTES + mix(state) % (length - PLAN_BYTES);
        uint64_t dice = mix(state);
        bytes[at] = dice % 3 ? (uint8_t)(dice >> 8) : likely[(dice >> 8) % sizeof likely];
    }
}

struct stk_decoder *make_decoder(void)
{
    struct stk_jpeg_info info;
    struct stk_decoder *decoder = stk_decoder_new();
    stk_decode_examine(decoder, "", 0, &info);
    return decoder;
}

/* ---- plans ---- */

static int32_t pick_below(struct fuzz_input *input, uint32_t limit)
{
    return (int32_t)fuzz_pick(input, limit > 0 ? limit : 1);
}

static float pick_part(struct fuzz_input *input, float from, float to)
{
    return from + (to - from) * (float)fuzz_take(input, 1) / 255.0f;
}

struct stk_plan pick_plan(struct fuzz_input *input, const struct stk_jpeg_info *info,
                          const float *table)
{
    struct stk_plan plan = {.table = table};
    uint32_t shape = fuzz_pick(input, 16);
    plan.crop[0] = pick_below(input, info->width);
    plan.crop[1] = pick_below(input, info->height);
    plan.crop[2] = plan.crop[0] + 1 + pick_below(input, info->width - (uint32_t)plan.crop[0]);
    plan.crop[3] = plan.crop[1] + 1 + pick_below(input, info->height - (uint32_t)plan.crop[1]);
    float width = (float)(plan.crop[2] - plan.crop[0]),
          height = (float)(plan.crop[3] - plan.crop[1]);
    plan.box[2] = width;
    plan.box[3] = height;
    if (shape < 4) {
        plan.box[0] = pick_part(input, 0, width);
        plan.box[1] = pick_part(input, 0, height);
        plan.box[2] = pick_part(input, plan.box[0], width);
        plan.box[3] = pick_part(input, plan.box[1], height);
    }
    plan.width = shape < 8 ? 1 + fuzz_pick(input, 64) : (uint32_t)width;
    plan.height = shape < 8 ? 1 + fuzz_pick(input, 64) : (uint32_t)height;
    plan.filter = (enum stk_filter)fuzz_pick(input, 7);
    plan.resizer = (enum stk_resizer)fuzz_pick(input, 3);
    plan.flip = fuzz_pick(input, 4);
    plan.channels = 1 + fuzz_pick(input, 4);
    plan.layout = (enum stk_layout)fuzz_pick(input, 2);
    plan.type = (enum stk_type)fuzz_pick(input, 2);
    return plan;
}

struct output make_output(const struct stk_plan *plan)
{
    size_t sample = plan->type == STK_TYPE_F32 ? sizeof(float) : 1;
    size_t row = plan->width * sample * (plan->layout == STK_LAYOUT_CHW ? 1 : plan->channels);
    size_t bytes = (size_t)plan->width * plan->height * plan->channels * sample;
    struct output output = {.bytes = bytes};
    output.target = (struct stk_target){calloc(1, bytes), row, row * plan->height, bytes,
                                        .streamed = plan->flip & 1};
    return output;
}

struct stk_plan whole_plan(const struct stk_jpeg_info *info, uint32_t channels)
{
    return (struct stk_plan){.crop = {0, 0, (int32_t)info->width, (int32_t)info->height},
                             .width = info->width,
                             .height = info->height,
                             .box = {0, 0, (float)info->width, (float)info->height},
                             .channels = channels == 1 ? 1 : 3};
}

void compare_with_whole(struct stk_decoder *decoder, const struct stk_jpeg_info *info,
                        const struct stk_plan *plan, const struct output *got,
                        const struct stk_plan *whole, const struct output *all)
{
    struct output wanted = make_output(plan);
    struct stk_image image = {.data = all->target.data,
                              .width = info->width,
                              .height = info->height,
                              .channels = whole->channels,
                              .row_bytes = all->target.row_bytes};
    int result = stk_transform(decoder, &image, plan, &wanted.target);
    if (result != STK_DECODE_OK) {
        fuzz_fail("decoded, but the transform says %d", result);
    }
    if (memcmp(got->target.data, wanted.target.data, got->bytes) != 0) {
        fuzz_fail("the region differs from the whole image's");
    }
    free(wanted.target.data);
}
