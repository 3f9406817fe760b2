/*
 * Whole decodes by each way to the coefficients, in nanoseconds of the thread.
 *
 *     form FILE...
 *
 * Prints one line for each way, its name and the mean over the files in each slice. `libjpeg` has
 * libjpeg's Huffman decoder, `parser` has ours, `keep` has ours and makes the form, `form` decodes
 * from that. Each decodes first the whole image, then a region as RandomResizedCrop draws it, as it
 * is. The ways take turns file by file. Then `size`: of each form over its file's.
 */
#define PROGRAM "form"
#include "bench/programs/common.h"

#include <math.h>
#include <string.h>

#include "decode/decode.h"

#define SLICES 25

enum { LIBJPEG, PARSER, KEEP, FORM, WAYS };
static const char *const names[WAYS] = {"libjpeg", "parser", "keep", "form"};

/* The work on one file, and its pixels. */
struct job {
    struct file file, form;
    struct stk_plan plan;
    struct stk_target target;
};

/* One that keeps and one that does not, so that neither finds the other's memory warm. */
static struct stk_decoder *decoders[WAYS];

static struct stk_decoder *make_decoder(const char *entropy)
{
    struct stk_jpeg_info info;
    struct stk_decoder *decoder = stk_decoder_new();
    setenv("STOKER_ENTROPY", entropy, 1);
    stk_decode_examine(decoder, "", 0, &info);
    return decoder;
}

static double draw(void)
{
    static uint64_t state = 1;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(state >> 33) / (double)(UINT64_C(1) << 31);
}

/* The box that torchvision's RandomResizedCrop draws, with its defaults. */
static void draw_crop(struct stk_plan *plan, uint32_t width, uint32_t height)
{
    double w, h;
    do {
        double area = width * (double)height * (0.08 + 0.92 * draw());
        double ratio = exp(log(3.0 / 4) + (log(4.0 / 3) - log(3.0 / 4)) * draw());
        w = round(sqrt(area * ratio));
        h = round(sqrt(area / ratio));
    } while (w < 1 || h < 1 || w > width || h > height);
    plan->crop[0] = (int32_t)((width - w) * draw());
    plan->crop[1] = (int32_t)((height - h) * draw());
    plan->crop[2] = plan->crop[0] + (int32_t)w;
    plan->crop[3] = plan->crop[1] + (int32_t)h;
}

static void aim(struct job *job, uint32_t width, uint32_t height, int region)
{
    struct stk_plan *plan = &job->plan;
    *plan = (struct stk_plan){.crop = {0, 0, (int32_t)width, (int32_t)height}, .channels = 3};
    if (region) {
        draw_crop(plan, width, height);
    }
    plan->width = (uint32_t)(plan->crop[2] - plan->crop[0]);
    plan->height = (uint32_t)(plan->crop[3] - plan->crop[1]);
    plan->box[2] = (float)plan->width;
    plan->box[3] = (float)plan->height;
    job->target.row_bytes = 3 * (size_t)plan->width;
    job->target.bytes = job->target.row_bytes * plan->height;
}

/* The file and its form, for good; room for its pixels. */
static struct job make_job(const char *path)
{
    struct job job = {.file = read_file(path)};
    struct stk_jpeg_info info;
    struct stk_form form;
    if (stk_decode_examine(decoders[PARSER], job.file.bytes, job.file.size, &info) != 0) {
        fail("no JPEG:", path);
    }
    aim(&job, info.width, info.height, 0);
    job.target.data = malloc(job.target.bytes);
    if (stk_decode_keep(decoders[KEEP], job.file.bytes, job.file.size, &job.plan, &job.target,
                        &form) != 0 ||
        form.bytes == 0) {
        fail("no form:", path);
    }
    job.form = (struct file){malloc(form.bytes), form.bytes};
    memcpy(job.form.bytes, form.data, form.bytes);
    return job;
}

static int run(const struct job *job, int way)
{
    struct stk_form form;
    const struct file *file = way == FORM ? &job->form : &job->file;
    switch (way) {
    case FORM:
        return stk_decode_form(decoders[way], file->bytes, file->size, &job->plan, &job->target);
    case KEEP:
        return stk_decode_keep(decoders[way], file->bytes, file->size, &job->plan, &job->target,
                               &form);
    default:
        return stk_decode(decoders[way], file->bytes, file->size, &job->plan, &job->target);
    }
}

static void measure(const struct job *job, double out[WAYS])
{
    for (int way = 0; way < WAYS; way++) {
        double begin = now_ns();
        if (run(job, way) != 0) {
            fail("cannot decode by", names[way]);
        }
        out[way] += now_ns() - begin;
    }
}

static void print(const char *prefix, int count, double slices[SLICES][WAYS])
{
    for (int way = 0; way < WAYS; way++) {
        printf("%s%s", prefix, names[way]);
        for (int slice = 0; slice < SLICES; slice++) {
            printf(" %.0f", slices[slice][way] / count);
        }
        putchar('\n');
    }
}

int main(int count, char **arguments)
{
    static double whole[SLICES][WAYS], region[SLICES][WAYS], sizes[4096];
    if (count < 2 || count > 4096) {
        fail("usage: form", "FILE...");
    }
    for (int way = 0; way < WAYS; way++) {
        decoders[way] = make_decoder(way == LIBJPEG ? "libjpeg" : "");
    }
    for (int i = 1; i < count; i++) {
        struct job job = make_job(arguments[i]);
        double unused[WAYS] = {0};
        uint32_t width = job.plan.width, height = job.plan.height;
        sizes[i] = (double)job.form.size / (double)job.file.size;
        for (int slice = -1; slice < SLICES; slice++) {
            aim(&job, width, height, 0);
            measure(&job, slice < 0 ? unused : whole[slice]);
            aim(&job, width, height, 1);
            measure(&job, slice < 0 ? unused : region[slice]);
        }
        free(job.file.bytes);
        free(job.form.bytes);
        free(job.target.data);
    }
    print("", count - 1, whole);
    print("region-", count - 1, region);
    printf("size");
    for (int i = 1; i < count; i++) {
        printf(" %.4f", sizes[i]);
    }
    putchar('\n');
    return 0;
}
