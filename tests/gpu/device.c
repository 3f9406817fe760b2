/*
 * Checks that only a device can make: `make test-gpu`.
 *     device                equality, then rates, which must be what they should be
 *     device --equality     equality alone (for compute-sanitizer, which makes all else slow)
 *     device --dry          all of it, small, and rates are not judged (for the driver of the
 * tests) Says 77 where there is no device, with the reason, and 1 where something is not as it must
 * be.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "gpu/gpu.h"
#include "gpu/context.h"
#include "tests/gpu/memory.h"

#define COPY_SHARE   0.90 /* of the rate of a plain copy from locked memory */
#define KERNEL_SHARE 0.70 /* of the bandwidth of a copy on the device */

static struct stk_gpu *gpu;
static struct stk_gpu_why why;
static bool is_dry, failed;

static void need(int result, const char *what)
{
    if (result < 0) {
        fprintf(stderr, "device: %s: %s\n", what, why.text);
        exit(1);
    }
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Memory that is locked, filled by chance. */
static unsigned char *take_host(size_t bytes)
{
    unsigned char *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    uint64_t state = 1;
    for (size_t i = 0; i < bytes / 8 * 8; i += 8) {
        state = state * UINT64_C(6364136223846793005) + 1;
        uint64_t word = state ^ state >> 29;
        memcpy(memory + i, &word, 8);
    }
    need(stk_gpu_pin(gpu, memory, bytes, &why), "locking memory");
    return memory;
}

static void give_host(unsigned char *memory, size_t bytes)
{
    need(stk_gpu_unpin(gpu, memory, &why), "unlocking memory");
    munmap(memory, bytes);
}

static const char *const types[] = {"float32", "float16", "bfloat16"};
static const char *const layouts[] = {"nchw", "nhwc"};

/* The last three kinds are of planes that take turns. */
#define KINDS 15

static struct stk_gpu_plan make_plan(int kind, uint32_t width, uint32_t height)
{
    struct stk_gpu_plan plan = {
        .type = (enum stk_gpu_type)(kind % 3),
        .layout = (enum stk_gpu_layout)(kind / 3 % 2),
        .channels = kind < 6 ? 3 : 1,
        .planes = kind < 12 ? 1 : 3,
        .width = width,
        .height = height,
        .mean = {0.485F, 0.456F, 0.406F},
        .std = {0.229F, 0.224F, 0.225F},
        .fill = {1, 2, 3},
    };
    stk_gpu_plan_finish(&plan);
    return plan;
}

/* ---- equality ---- */

#define IMAGES 7

/* Each somewhere in the memory, at an odd place, with rows that do not lie close. */
static void lay_out(const struct stk_gpu_plan *plan, const unsigned char *memory, uint32_t variant,
                    struct stk_gpu_image *images)
{
    uint64_t at = (uintptr_t)memory + variant;
    for (uint32_t i = 0; i < IMAGES; i++) {
        struct stk_gpu_image *image = &images[i];
        *image = (struct stk_gpu_image){.pixels = at,
                                        .width = plan->width + i % 3,
                                        .height = plan->height + i % 2,
                                        .left = variant == 0 ? 0 : (int32_t)(i * 2) - 5,
                                        .top = variant == 0 ? 0 : 3 - (int32_t)i,
                                        .flip = i & 1};
        image->stride = image->width * plan->channels + variant * 3;
        at += stk_gpu_image_bytes(plan, image) + variant;
    }
}

static void compare(const struct stk_gpu_plan *plan, unsigned char *memory, size_t bytes,
                    uint32_t variant)
{
    struct stk_gpu_image images[IMAGES];
    size_t made = stk_gpu_plan_bytes(plan, IMAGES);
    unsigned char *here = malloc(made), *there = malloc(made);
    uint64_t out, number;
    lay_out(plan, memory, variant, images);
    need(take_memory(gpu, made, &out, &why), "taking memory");
    need(stk_gpu_send(gpu,
                      &(struct stk_gpu_batch){plan, images, IMAGES, memory, bytes, out,
                                              STK_GPU_NO_STREAM, NULL, NULL},
                      &number, &why),
         "sending");
    need(stk_gpu_wait(gpu, number, &why), "waiting");
    need(fetch_memory(gpu, there, out, made, &why), "fetching");
    need(give_memory(gpu, out, &why), "giving back");
    stk_gpu_plan_run(plan, images, 0, IMAGES, here);
    if (memcmp(here, there, made) != 0) {
        printf("NOT EQUAL: %s %s, %u channels, %ux%u, variant %u\n", types[plan->type],
               layouts[plan->layout], plan->channels, plan->width, plan->height, variant);
        failed = true;
    }
    free(here);
    free(there);
}

static void try_equality(void)
{
    static const uint32_t sizes[] = {1, 3, 4, 7, 8, 9, 17, 28, 32, 63, 64, 65, 224, 227, 257};
    size_t bytes = (size_t)IMAGES * 270 * 270 * 3, cases = 0, count = is_dry ? 9 : 15;
    unsigned char *memory = take_host(bytes);
    for (int kind = 0; kind < KINDS; kind++) {
        for (size_t i = 0; i < count; i++) {
            struct stk_gpu_plan plan = make_plan(kind, sizes[i], sizes[(i * 7 + 3) % count]);
            for (uint32_t variant = 0; variant < 4; variant++, cases++) {
                compare(&plan, memory, bytes, variant);
            }
        }
    }
    give_host(memory, bytes);
    printf("equality: %zu batches of %d images%s\n", cases, IMAGES, failed ? "" : ", all equal");
}

/* ---- rates ---- */

#define SIDE 224U

static uint32_t images_of_batch, batches;

static void judge(const char *what, double share, double least)
{
    bool good = share >= least;
    printf("| %-34s | %5.1f%% of it, %2.0f%% wanted%s |\n", what, share * 100, least * 100,
           good || is_dry ? "" : ": TOO SLOW");
    failed = failed || (!good && !is_dry);
}

/* Bytes a second of plain copies: each as large as a batch, all in one stream. */
static double plain_copies(const unsigned char *memory, size_t bytes)
{
    uint64_t to;
    void *context;
    need(take_memory(gpu, bytes, &to, &why), "taking memory");
    const struct stk_gpu_driver *driver = gpu->driver;
    int result = driver->push_current(gpu->context);
    double begin = 0;
    for (uint32_t i = 0; i < batches + 2 && result == 0; i++) {
        if (i == 2) { /* the first ones warm up */
            result = driver->stream_synchronize(gpu->copies);
            begin = now_s();
        }
        result = result != 0 ? result : driver->copy_to_device(to, memory, bytes, gpu->copies);
    }
    result = result != 0 ? result : driver->stream_synchronize(gpu->copies);
    double seconds = now_s() - begin;
    driver->pop_current(&context);
    need(result == 0 ? 0 : stk_gpu_refused(gpu, result, "copy", &why), "copying");
    need(give_memory(gpu, to, &why), "giving back");
    return (double)bytes * batches / seconds;
}

/* Seconds a batch; `memory` NULL: the images lie on the device. */
static double time_batches(const struct stk_gpu_plan *plan, const struct stk_gpu_image *images,
                           const unsigned char *memory, size_t bytes)
{
    uint64_t outs[2], number = 0;
    size_t made = stk_gpu_plan_bytes(plan, images_of_batch);
    for (int i = 0; i < 2; i++) {
        need(take_memory(gpu, made, &outs[i], &why), "taking memory");
    }
    double begin = 0;
    for (uint32_t i = 0; i < batches + STK_GPU_LANES; i++) {
        if (i == STK_GPU_LANES) { /* the first ones take memory */
            need(stk_gpu_wait(gpu, number, &why), "waiting");
            begin = now_s();
        }
        need(stk_gpu_send(gpu,
                          &(struct stk_gpu_batch){plan, images, images_of_batch, memory, bytes,
                                                  outs[i % 2], STK_GPU_NO_STREAM, NULL, NULL},
                          &number, &why),
             "sending");
    }
    need(stk_gpu_wait(gpu, number, &why), "waiting");
    double seconds = (now_s() - begin) / batches;
    for (int i = 0; i < 2; i++) {
        need(give_memory(gpu, outs[i], &why), "giving back");
    }
    return seconds;
}

/* Bytes a second that a copy on the device reads and writes. */
static double device_copies(size_t bytes)
{
    uint64_t from, to;
    void *context, *symbol = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemcpyDtoDAsync_v2");
    int (*copy)(unsigned long long, unsigned long long, size_t, void *);
    memcpy(&copy, &symbol, sizeof copy);
    need(take_memory(gpu, bytes, &from, &why), "taking memory");
    need(take_memory(gpu, bytes, &to, &why), "taking memory");
    const struct stk_gpu_driver *driver = gpu->driver;
    int result = driver->push_current(gpu->context);
    double begin = 0;
    for (uint32_t i = 0; i < 4 * batches + 2 && result == 0; i++) {
        if (i == 2) {
            result = driver->stream_synchronize(gpu->work);
            begin = now_s();
        }
        result = result != 0 ? result : copy(to, from, bytes, gpu->work);
    }
    result = result != 0 ? result : driver->stream_synchronize(gpu->work);
    double seconds = now_s() - begin;
    driver->pop_current(&context);
    need(result == 0 ? 0 : stk_gpu_refused(gpu, result, "copy", &why), "copying");
    need(give_memory(gpu, from, &why), "giving back");
    need(give_memory(gpu, to, &why), "giving back");
    return 2.0 * (double)bytes * 4 * batches / seconds;
}

static void place(struct stk_gpu_image *images, uint64_t at)
{
    for (uint32_t i = 0; i < images_of_batch; i++) {
        images[i] = (struct stk_gpu_image){
            at + (uint64_t)i * SIDE * SIDE * 3, SIDE, SIDE, SIDE * 3, 0, 0, i & 1};
    }
}

static void rate_kernels(struct stk_gpu_image *images, size_t bytes, double device)
{
    uint64_t set;
    need(take_memory(gpu, bytes, &set, &why), "taking memory");
    place(images, set);
    for (int kind = 0; kind < 6; kind++) {
        char what[64];
        struct stk_gpu_plan plan = make_plan(kind, SIDE, SIDE);
        double seconds = time_batches(&plan, images, NULL, 0);
        double moved = (double)bytes + (double)stk_gpu_plan_bytes(&plan, images_of_batch);
        snprintf(what, sizeof what, "kernel %s %s, %.0f us", types[plan.type], layouts[plan.layout],
                 seconds * 1e6);
        judge(what, moved / seconds / device, KERNEL_SHARE);
    }
    need(give_memory(gpu, set, &why), "giving back");
}

static void rate_batches(struct stk_gpu_image *images, size_t bytes)
{
    unsigned char *memory = take_host(bytes);
    double plain = plain_copies(memory, bytes);
    place(images, (uintptr_t)memory);
    printf("| %-34s | %8.1f GB/s |\n", "plain copies from locked memory", plain / 1e9);
    for (int kind = 0; kind < 2; kind++) {
        char what[64];
        struct stk_gpu_plan plan = make_plan(kind, SIDE, SIDE);
        double seconds = time_batches(&plan, images, memory, bytes);
        snprintf(what, sizeof what, "batches %s, %.0f images/s", types[plan.type],
                 images_of_batch / seconds);
        judge(what, (double)bytes / seconds / plain, COPY_SHARE);
    }
    give_host(memory, bytes);
}

static void try_rates(void)
{
    static struct stk_gpu_image images[256];
    images_of_batch = is_dry ? 2 : 256;
    batches = is_dry ? 3 : 200;
    size_t bytes = (size_t)images_of_batch * SIDE * SIDE * 3;
    printf("| %u images of %ux%u a batch | |\n|---|---|\n", images_of_batch, SIDE, SIDE);
    rate_batches(images, bytes);
    double device = device_copies(bytes * 4);
    printf("| %-34s | %8.1f GB/s |\n", "copies on the device, both ways", device / 1e9);
    rate_kernels(images, bytes, device);
}

int main(int argc, char **argv)
{
    is_dry = argc > 1 && strcmp(argv[1], "--dry") == 0;
    bool equality_alone = argc > 1 && strcmp(argv[1], "--equality") == 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    int error = stk_gpu_open(&gpu, 0, &why);
    if (error == STK_GPU_NONE) {
        printf("skipped: %s\n", why.text);
        return 77;
    }
    need(error, "opening");
    printf("%s\n", stk_gpu_name(gpu));
    try_equality();
    if (!equality_alone) {
        try_rates();
    }
    stk_gpu_close(gpu);
    return failed ? 1 : 0;
}
