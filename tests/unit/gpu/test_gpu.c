/* Batches on their way to a device, over the driver of the tests (tests/gpu/world.h). */
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "gpu/context.h"
#include "gpu/gpu.h"
#include "ring/ring.h"
#include "tests/gpu/memory.h"
#include "tests/gpu/world.h"

#define SIDE   20
#define IMAGES 5
#define BYTES  ((size_t)IMAGES * SIDE * SIDE * 3)

static struct cuda_world *world;
static struct stk_gpu *gpu;
static struct stk_gpu_why why;

/*
 * The leak sanitizer stops all threads when a test ends, and may crash at those of a library that
 * was opened at run time. The driver counts its own leaks (assert_nothing_is_left).
 */
__attribute__((visibility("default"))) int
__lsan_is_turned_off(void);    // NOLINT(bugprone-reserved-identifier)
int __lsan_is_turned_off(void) // NOLINT(bugprone-reserved-identifier)
{
    return world != NULL;
}

static void find_world(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    ck_assert_msg(library != NULL, "%s", dlerror());
    void *symbol = dlsym(library, "cuda_world");
    cuda_world_get *get;
    memcpy(&get, &symbol, sizeof get);
    ck_assert_msg(get != NULL, "this libcuda.so.1 is not the one of the tests");
    world = get();
}

static void open_gpu(void)
{
    find_world();
    ck_assert_msg(stk_gpu_open(&gpu, 0, &why) == STK_GPU_OK, "%s", why.text);
}

static void assert_nothing_is_left(void)
{
    ck_assert_int_eq(world->retained, 0);
    ck_assert_int_eq(world->pushed, 0);
    ck_assert_int_eq(world->modules + world->streams + world->events, 0);
    ck_assert_int_eq(world->memories + world->locks, 0);
    ck_assert_int_eq(world->lost, 0);
    ck_assert_int_eq(world->wild, 0);
}

/* ---- batches ---- */

static struct stk_gpu_plan make_plan(enum stk_gpu_type type, enum stk_gpu_layout layout,
                                     uint32_t channels)
{
    struct stk_gpu_plan plan = {
        .type = type,
        .layout = layout,
        .channels = channels,
        .width = SIDE,
        .height = SIDE,
        .mean = {0.485F, 0.456F, 0.406F},
        .std = {0.229F, 0.224F, 0.225F},
    };
    ck_assert_ptr_null(stk_gpu_plan_finish(&plan));
    return plan;
}

static void scribble(void *memory, size_t bytes, uint32_t seed)
{
    unsigned char *at = memory;
    for (size_t i = 0; i < bytes; i++) {
        seed = seed * 1664525U + 1013904223U;
        at[i] = (unsigned char)(seed >> 24);
    }
}

/* Images one behind the other, some of them flipped and moved. */
static void lay_out(const struct stk_gpu_plan *plan, uint64_t memory, struct stk_gpu_image *images)
{
    for (uint32_t i = 0; i < IMAGES; i++) {
        uint32_t stride = SIDE * plan->channels;
        images[i] = (struct stk_gpu_image){memory + (uint64_t)i * SIDE * stride,
                                           SIDE,
                                           SIDE,
                                           stride,
                                           (int32_t)i - 2,
                                           1 - (int32_t)i,
                                           i & 1};
    }
}

static void *locked_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(memory, MAP_FAILED);
    if (gpu != NULL) {
        ck_assert_msg(stk_gpu_pin(gpu, memory, bytes, &why) == STK_GPU_OK, "%s", why.text);
    }
    return memory;
}

static uint64_t take(const struct stk_gpu_plan *plan)
{
    uint64_t out;
    size_t bytes = stk_gpu_plan_bytes(plan, IMAGES);
    ck_assert_msg(take_memory(gpu, bytes, &out, &why) == STK_GPU_OK, "%s", why.text);
    return out;
}

static uint64_t send_ok(const struct stk_gpu_batch *batch)
{
    uint64_t number;
    ck_assert_msg(stk_gpu_send(gpu, batch, &number, &why) == STK_GPU_OK, "%s", why.text);
    return number;
}

/* Returns true if the device's output is the plan's output of these images on the processor. */
static bool is_right(const struct stk_gpu_plan *plan, const struct stk_gpu_image *images,
                     uint64_t out)
{
    size_t bytes = stk_gpu_plan_bytes(plan, IMAGES);
    unsigned char *here = malloc(bytes), *there = malloc(bytes);
    stk_gpu_plan_run(plan, images, 0, IMAGES, here);
    ck_assert_int_eq(fetch_memory(gpu, there, out, bytes, &why), STK_GPU_OK);
    bool right = memcmp(here, there, bytes) == 0;
    free(here);
    free(there);
    return right;
}

START_TEST(what_comes_out_is_what_is_made_here)
{
    open_gpu();
    ck_assert_str_eq(stk_gpu_name(gpu), "the first");
    unsigned char *memory = locked_memory(BYTES);
    scribble(memory, BYTES, 1);
    for (int i = 0; i < 12; i++) {
        struct stk_gpu_image images[IMAGES];
        struct stk_gpu_plan plan =
            make_plan((enum stk_gpu_type)(i % 3), (enum stk_gpu_layout)(i / 3 % 2), i < 6 ? 1 : 3);
        lay_out(&plan, (uintptr_t)memory, images);
        uint64_t out = take(&plan);
        uint64_t number = send_ok(&(struct stk_gpu_batch){&plan, images, IMAGES, memory, BYTES, out,
                                                          STK_GPU_NO_STREAM, NULL, NULL});
        ck_assert_uint_eq(number, (uint64_t)i + 1);
        ck_assert_int_eq(stk_gpu_wait(gpu, number, &why), STK_GPU_OK);
        ck_assert(is_right(&plan, images, out));
        ck_assert_int_eq(give_memory(gpu, out, &why), STK_GPU_OK);
    }
    ck_assert_int_eq(world->kernels, 12);
    ck_assert_int_eq(stk_gpu_unpin(gpu, memory, &why), STK_GPU_OK);
    stk_gpu_close(gpu);
    assert_nothing_is_left();
}
END_TEST

/* A data set that lies on the device already. */
START_TEST(images_on_the_device_are_not_copied)
{
    struct stk_gpu_image images[IMAGES], here[IMAGES];
    open_gpu();
    struct stk_gpu_plan plan = make_plan(STK_GPU_F16, STK_GPU_NCHW, 3);
    uint64_t set = take(&plan), out = take(&plan);
    unsigned char *bytes = (unsigned char *)(uintptr_t)set; /* which is here, in truth */
    scribble(bytes, BYTES, 2);
    lay_out(&plan, set, images);
    lay_out(&plan, (uintptr_t)bytes, here);
    uint64_t number = send_ok(&(struct stk_gpu_batch){
        .plan = &plan, .images = images, .count = IMAGES, .out = out, .stream = NULL});
    ck_assert_int_eq(stk_gpu_wait(gpu, number, &why), STK_GPU_OK);
    ck_assert(is_right(&plan, here, out));
    ck_assert_int_eq(world->copies, 1); /* of what is wanted of each image */
    ck_assert_int_eq(give_memory(gpu, set, &why), STK_GPU_OK);
    ck_assert_int_eq(give_memory(gpu, out, &why), STK_GPU_OK);
    stk_gpu_close(gpu);
    assert_nothing_is_left();
}
END_TEST

/* ---- slots ---- */

#define SENT 200

static struct stk_ring ring;
static int given_back;

/* Writes over the slot at once, as its next writer may. */
static void give_back(void *holder)
{
    struct stk_ring_slot *slot = holder;
    memset(slot->slot.memory, 0xee, slot->slot.bytes);
    stk_ring_let_go(&ring, (int)(slot - ring.slots));
    given_back++;
}

/* A slot is locked when it is seen for the first time. */
static void pin_slot(const struct stk_ring_slot *slot, uint64_t *seen)
{
    uint64_t bit = UINT64_C(1) << (slot - ring.slots);
    if ((*seen & bit) == 0) {
        *seen |= bit;
        int error = stk_gpu_pin(gpu, slot->slot.memory, slot->slot.bytes, &why);
        ck_assert_msg(error == STK_GPU_OK, "%s", why.text);
    }
}

START_TEST(slots_are_not_given_back_before_they_are_copied)
{
    static struct stk_gpu_image images[SENT][IMAGES];
    static unsigned char *copies[SENT];
    uint64_t seen = 0, outs[SENT];
    open_gpu();
    stk_ring_begin(&ring, 1);
    struct stk_gpu_plan plan = make_plan(STK_GPU_BF16, STK_GPU_NHWC, 3);
    for (uint32_t i = 0; i < SENT; i++) {
        struct stk_ring_slot *slot = &ring.slots[stk_ring_take(&ring, BYTES)];
        pin_slot(slot, &seen);
        scribble(slot->slot.memory, BYTES, i);
        copies[i] = malloc(BYTES);
        memcpy(copies[i], slot->slot.memory, BYTES);
        outs[i] = take(&plan);
        lay_out(&plan, (uintptr_t)slot->slot.memory, images[i]);
        send_ok(&(struct stk_gpu_batch){&plan, images[i], IMAGES, slot->slot.memory, BYTES, outs[i],
                                        STK_GPU_NO_STREAM, slot, give_back});
        lay_out(&plan, (uintptr_t)copies[i], images[i]);
        if (i % 3 == 0) {
            ck_assert_int_ge(stk_gpu_collect(gpu, &why), 0);
        }
    }
    ck_assert_int_eq(stk_gpu_wait(gpu, SENT, &why), STK_GPU_OK);
    ck_assert_int_eq(stk_gpu_collect(gpu, &why), 0);
    ck_assert_int_eq(given_back, SENT);
    for (uint32_t i = 0; i < SENT; i++) {
        ck_assert_msg(is_right(&plan, images[i], outs[i]), "batch %u is not what was sent", i);
        ck_assert_int_eq(give_memory(gpu, outs[i], &why), STK_GPU_OK);
    }
    stk_gpu_close(gpu);
    ck_assert_int_eq(given_back, SENT);
    assert_nothing_is_left();
}
END_TEST

/* Each has its lane's memory made anew, in which the one before may still be worked on. */
START_TEST(batches_may_become_larger)
{
    enum { BATCHES = 4 * STK_GPU_LANES, STEP = 1 << 20 };
    struct stk_gpu_image images[IMAGES];
    open_gpu();
    world->late_us = 5000;
    struct stk_gpu_plan plan = make_plan(STK_GPU_F32, STK_GPU_NCHW, 3);
    unsigned char *memory = locked_memory(STEP * (BATCHES / STK_GPU_LANES) + BYTES);
    scribble(memory, BYTES, 1);
    uint64_t out = take(&plan);
    lay_out(&plan, (uintptr_t)memory, images);
    for (size_t i = 0; i < BATCHES; i++) {
        send_ok(&(struct stk_gpu_batch){&plan, images, IMAGES, memory,
                                        BYTES + i / STK_GPU_LANES * STEP, out, STK_GPU_NO_STREAM,
                                        NULL, NULL});
    }
    ck_assert_int_eq(stk_gpu_wait(gpu, BATCHES, &why), STK_GPU_OK);
    ck_assert(is_right(&plan, images, out));
    ck_assert_int_eq(world->kernels, BATCHES);
    ck_assert_int_eq(give_memory(gpu, out, &why), STK_GPU_OK);
    stk_gpu_close(gpu);
    assert_nothing_is_left();
}
END_TEST

static int let_gos;

static void count_let_go(void *holder)
{
    (void)holder;
    let_gos++;
}

/* A consumer that stops in the middle. */
START_TEST(an_early_end_waits_for_what_is_on_its_way)
{
    struct stk_gpu_image images[IMAGES];
    open_gpu();
    world->late_us = 20000;
    struct stk_gpu_plan plan = make_plan(STK_GPU_F32, STK_GPU_NCHW, 3);
    unsigned char *memory = locked_memory(BYTES);
    lay_out(&plan, (uintptr_t)memory, images);
    uint64_t out = take(&plan);
    for (int i = 0; i < 5; i++) {
        send_ok(&(struct stk_gpu_batch){&plan, images, IMAGES, memory, BYTES, out,
                                        STK_GPU_NO_STREAM, NULL, count_let_go});
    }
    ck_assert_int_gt(stk_gpu_collect(gpu, &why), 0);
    ck_assert_int_lt(let_gos, 5);
    world->memories--; /* `out` is ours, and goes with the context */
    stk_gpu_close(gpu);
    ck_assert_int_eq(let_gos, 5);
    ck_assert_int_eq(world->kernels, 5);
    ck_assert_int_eq(world->wild, 0);
    ck_assert_int_eq(world->lost, 0);
}
END_TEST

/* ---- the consumer's stream ---- */

START_TEST(a_consumer_s_stream_waits_for_the_batch)
{
    struct stk_gpu_image images[IMAGES];
    void *stream, *context;
    open_gpu();
    world->late_us = 3000;
    struct stk_gpu_plan plan = make_plan(STK_GPU_F32, STK_GPU_NCHW, 3);
    unsigned char *memory = locked_memory(BYTES);
    gpu->driver->push_current(gpu->context);
    ck_assert_int_eq(gpu->driver->stream_create(&stream, 0), 0);
    lay_out(&plan, (uintptr_t)memory, images);
    uint64_t out = take(&plan);
    for (uint32_t i = 0; i < 20; i++) {
        scribble(memory, BYTES, i);
        uint64_t number = send_ok(&(struct stk_gpu_batch){&plan, images, IMAGES, memory, BYTES, out,
                                                          STK_GPU_NO_STREAM, NULL, NULL});
        ck_assert_int_eq(stk_gpu_follow(gpu, number, stream, &why), STK_GPU_OK);
        ck_assert_int_eq(gpu->driver->stream_synchronize(stream), 0);
        ck_assert(is_right(&plan, images, out));
    }
    ck_assert_int_eq(gpu->driver->stream_destroy(stream), 0);
    gpu->driver->pop_current(&context);
    ck_assert_int_eq(give_memory(gpu, out, &why), STK_GPU_OK);
    stk_gpu_close(gpu);
    assert_nothing_is_left();
}
END_TEST

/* Its memory for the batch may still be in use by what it began before. */
START_TEST(a_batch_waits_for_the_consumer_s_stream)
{
    struct stk_gpu_image images[IMAGES];
    void *stream, *context;
    open_gpu();
    world->late_us = 3000;
    struct stk_gpu_plan plan = make_plan(STK_GPU_F32, STK_GPU_NCHW, 3);
    unsigned char *memory = locked_memory(BYTES), *before = locked_memory(4 * BYTES);
    gpu->driver->push_current(gpu->context);
    ck_assert_int_eq(gpu->driver->stream_create(&stream, 0), 0);
    lay_out(&plan, (uintptr_t)memory, images);
    scribble(memory, BYTES, 1);
    uint64_t out = take(&plan);
    for (int i = 0; i < 20; i++) {
        for (int k = 0; k < 4; k++) {
            ck_assert_int_eq(gpu->driver->copy_to_device(out, before, 4 * BYTES, stream), 0);
        }
        uint64_t number = send_ok(
            &(struct stk_gpu_batch){&plan, images, IMAGES, memory, BYTES, out, stream, NULL, NULL});
        ck_assert_int_eq(stk_gpu_wait(gpu, number, &why), STK_GPU_OK);
        ck_assert(is_right(&plan, images, out));
    }
    ck_assert_int_eq(gpu->driver->stream_destroy(stream), 0);
    gpu->driver->pop_current(&context);
    ck_assert_int_eq(give_memory(gpu, out, &why), STK_GPU_OK);
    stk_gpu_close(gpu);
    assert_nothing_is_left();
}
END_TEST

/* ---- locked memory ---- */

START_TEST(memory_is_locked_in_chunks_and_copied_by_them)
{
    struct stk_gpu_image images[IMAGES];
    open_gpu();
    gpu->chunk_bytes = 1024;
    struct stk_gpu_plan plan = make_plan(STK_GPU_F32, STK_GPU_NCHW, 3);
    unsigned char *memory = locked_memory(BYTES + 100);
    int chunks = (int)((BYTES + 100 + 1023) / 1024);
    ck_assert_int_eq(world->locks, chunks);
    scribble(memory, BYTES + 100, 3);
    lay_out(&plan, (uintptr_t)memory + 100, images);
    uint64_t out = take(&plan);
    uint64_t number = send_ok(&(struct stk_gpu_batch){&plan, images, IMAGES, memory + 100, BYTES,
                                                      out, STK_GPU_NO_STREAM, NULL, NULL});
    ck_assert_int_eq(stk_gpu_wait(gpu, number, &why), STK_GPU_OK);
    ck_assert(is_right(&plan, images, out));
    ck_assert_int_eq(world->copies, chunks + 1);
    ck_assert_int_eq(give_memory(gpu, out, &why), STK_GPU_OK);
    ck_assert_int_eq(stk_gpu_unpin(gpu, memory, &why), STK_GPU_OK);
    ck_assert_int_eq(stk_gpu_unpin(gpu, memory, &why), STK_GPU_ARGUMENT);
    stk_gpu_close(gpu);
    assert_nothing_is_left();
}
END_TEST

START_TEST(unpinning_waits_for_copies)
{
    struct stk_gpu_image images[IMAGES];
    open_gpu();
    world->late_us = 5000;
    struct stk_gpu_plan plan = make_plan(STK_GPU_F32, STK_GPU_NCHW, 3);
    uint64_t out = take(&plan);
    for (int i = 0; i < 10; i++) {
        unsigned char *memory = locked_memory(BYTES);
        lay_out(&plan, (uintptr_t)memory, images);
        send_ok(&(struct stk_gpu_batch){&plan, images, IMAGES, memory, BYTES, out,
                                        STK_GPU_NO_STREAM, NULL, count_let_go});
        ck_assert_int_eq(stk_gpu_unpin(gpu, memory, &why), STK_GPU_OK);
        ck_assert_int_eq(munmap(memory, BYTES), 0);
    }
    ck_assert_int_eq(let_gos, 10);
    ck_assert_int_eq(stk_gpu_wait(gpu, 10, &why), STK_GPU_OK);
    ck_assert_int_eq(give_memory(gpu, out, &why), STK_GPU_OK);
    stk_gpu_close(gpu);
    assert_nothing_is_left();
}
END_TEST

/* Some of the chunks are locked when the limit is met. */
START_TEST(what_cannot_be_locked_is_explained)
{
    struct rlimit limit = {65536, 65536};
    open_gpu();
    gpu->chunk_bytes = 4096;
    int locks = world->locks;
    world->locked_bytes = 10000;
    void *memory = mmap(NULL, 20480, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_int_eq(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
    ck_assert_int_eq(stk_gpu_pin(gpu, memory, 20480, &why), STK_GPU_MEMORY);
    ck_assert_int_eq(world->locks, locks);
    ck_assert_ptr_nonnull(strstr(why.text, "CUDA_ERROR_OUT_OF_MEMORY"));
    ck_assert_ptr_nonnull(strstr(why.text, "20 KiB were to be locked"));
    ck_assert_ptr_nonnull(strstr(why.text, "may lock 64 KiB (RLIMIT_MEMLOCK: raise it"));
    world->locked_bytes = SIZE_MAX; /* it goes on all the same */
    ck_assert_int_eq(stk_gpu_pin(gpu, memory, 20480, &why), STK_GPU_OK);
    ck_assert_int_eq(stk_gpu_pin(gpu, memory, 20480, &why), STK_GPU_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(why.text, "locked already"));
    stk_gpu_close(gpu);
    assert_nothing_is_left();
}
END_TEST

START_TEST(memory_that_is_not_locked_is_sent_as_well)
{
    struct stk_gpu_image images[IMAGES];
    open_gpu();
    struct stk_gpu_plan plan = make_plan(STK_GPU_F32, STK_GPU_NCHW, 3);
    unsigned char *memory = malloc(BYTES);
    scribble(memory, BYTES, 5);
    lay_out(&plan, (uintptr_t)memory, images);
    uint64_t out = take(&plan);
    uint64_t number = send_ok(&(struct stk_gpu_batch){&plan, images, IMAGES, memory, BYTES, out,
                                                      STK_GPU_NO_STREAM, NULL, NULL});
    ck_assert_int_eq(stk_gpu_wait(gpu, number, &why), STK_GPU_OK);
    ck_assert(is_right(&plan, images, out));
    ck_assert_int_eq(give_memory(gpu, out, &why), STK_GPU_OK);
    stk_gpu_close(gpu);
    free(memory);
    assert_nothing_is_left();
}
END_TEST

/* ---- where there is no device that would do ---- */

static void assert_none(const char *text)
{
    ck_assert_int_eq(stk_gpu_open(&gpu, 0, &why), STK_GPU_NONE);
    ck_assert_ptr_null(gpu);
    ck_assert_msg(strstr(why.text, text) != NULL, "%s", why.text);
}

START_TEST(no_driver_is_no_gpu)
{
    char own[4096];
    UNIT_NEEDS_PRIVATE();
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    ck_assert_int_gt(length, 0);
    own[length] = '\0';
    *strrchr(own, '/') = '\0';
    unit_mount_tmpfs(unit_join(own, "gpu"), "size=1m");
    if (dlopen("libcuda.so.1", RTLD_NOW) != NULL) {
        unit_skip(__func__, "there is a driver on this machine");
        return;
    }
    assert_none("no NVIDIA driver: ");
}
END_TEST

START_TEST(a_driver_that_is_too_old_is_no_gpu)
{
    find_world();
    world->version = 9020;
    assert_none("too old: it is for CUDA 9.2, and 10.0 is the least");
    ck_assert_int_eq(world->calls, 1);
    world->version = 10000; /* it is looked for again */
    world->takes_ptx_only = true;
    ck_assert_int_eq(stk_gpu_open(&gpu, 0, &why), STK_GPU_OK);
    stk_gpu_close(gpu);
    assert_nothing_is_left();
}
END_TEST

START_TEST(a_driver_without_a_device_is_no_gpu)
{
    find_world();
    world->devices = 0;
    assert_none("no GPU: the NVIDIA driver finds none");
    world->devices = 2;
    ck_assert_int_eq(stk_gpu_open(&gpu, 2, &why), STK_GPU_NONE);
    ck_assert_str_eq(why.text, "there is no GPU 2: there are 2");
    ck_assert_int_eq(stk_gpu_open(&gpu, 1, &why), STK_GPU_OK);
    ck_assert_str_eq(stk_gpu_name(gpu), "another");
    stk_gpu_close(gpu);
    assert_nothing_is_left();
}
END_TEST

START_TEST(a_device_that_is_too_old_is_no_gpu)
{
    find_world();
    world->capability = 70;
    assert_none("the first has compute capability 7.0, and 7.5 is the least");
    assert_nothing_is_left();
}
END_TEST

/* ---- what goes wrong ---- */

START_TEST(a_device_without_memory_says_so_and_goes_on)
{
    struct stk_gpu_image images[IMAGES];
    uint64_t number, none;
    open_gpu();
    struct stk_gpu_plan plan = make_plan(STK_GPU_F32, STK_GPU_NCHW, 3);
    unsigned char *memory = locked_memory(BYTES);
    uint64_t out = take(&plan);
    lay_out(&plan, (uintptr_t)memory, images);
    struct stk_gpu_batch batch = {&plan, images, IMAGES, memory,      BYTES,
                                  out,   NULL,   NULL,   count_let_go};
    world->device_bytes = world->device_used + 1000;
    ck_assert_int_eq(stk_gpu_send(gpu, &batch, &number, &why), STK_GPU_MEMORY);
    ck_assert_ptr_nonnull(strstr(why.text, "CUDA_ERROR_OUT_OF_MEMORY"));
    ck_assert_int_eq(take_memory(gpu, 2000, &none, &why), STK_GPU_MEMORY);
    world->device_bytes = (size_t)1 << 30;
    ck_assert_int_eq(let_gos, 0);
    ck_assert_int_eq(stk_gpu_wait(gpu, send_ok(&batch), &why), STK_GPU_OK);
    ck_assert_int_eq(give_memory(gpu, out, &why), STK_GPU_OK);
    stk_gpu_close(gpu);
    ck_assert_int_eq(let_gos, 1);
    assert_nothing_is_left();
}
END_TEST

START_TEST(batches_that_make_no_sense_are_refused)
{
    struct stk_gpu_image images[IMAGES];
    uint64_t number;
    open_gpu();
    struct stk_gpu_plan plan = make_plan(STK_GPU_F32, STK_GPU_NCHW, 3);
    unsigned char *memory = locked_memory(BYTES);
    lay_out(&plan, (uintptr_t)memory, images);
    const struct stk_gpu_batch good = {&plan, images, IMAGES, memory, BYTES, 256, NULL, NULL, NULL};
    struct stk_gpu_batch bad[] = {good, good, good, good};
    bad[0].bytes = BYTES - 1;
    bad[1].memory = memory + 1;
    bad[2].out = 257;
    bad[3].count = 0;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_int_eq(stk_gpu_send(gpu, &bad[i], &number, &why), STK_GPU_ARGUMENT);
        ck_assert_str_ne(why.text, "");
    }
    ck_assert_int_eq(stk_gpu_follow(gpu, 1, NULL, &why), STK_GPU_ARGUMENT);
    ck_assert_int_eq(stk_gpu_wait(gpu, 0, &why), STK_GPU_ARGUMENT);
    stk_gpu_close(gpu);
    assert_nothing_is_left();
}
END_TEST

/* ---- every call fails ---- */

/* Runs one life of a device, up to its first error, and leaves the reason. It gives back the test's
 * memory on the device in any case. */
static int live(unsigned char *memory, int *sent)
{
    struct stk_gpu_image images[IMAGES];
    struct stk_gpu_plan plan = make_plan(STK_GPU_F16, STK_GPU_NCHW, 3);
    uint64_t out = 0, number = 0;
    int error = stk_gpu_open(&gpu, 0, &why);
    if (error != STK_GPU_OK) {
        return error;
    }
    lay_out(&plan, (uintptr_t)memory, images);
    error = stk_gpu_pin(gpu, memory, BYTES, &why);
    if (error == STK_GPU_OK) {
        error = take_memory(gpu, stk_gpu_plan_bytes(&plan, IMAGES), &out, &why);
    }
    for (int i = 0; i < STK_GPU_LANES + 3 && error == STK_GPU_OK; i++) {
        const struct stk_gpu_batch batch = {&plan, images, IMAGES, memory,      BYTES,
                                            out,   NULL,   NULL,   count_let_go};
        error = stk_gpu_send(gpu, &batch, &number, &why);
        *sent += error == STK_GPU_OK;
    }
    error = error != STK_GPU_OK ? error : stk_gpu_follow(gpu, number, NULL, &why);
    if (error == STK_GPU_OK) {
        error = stk_gpu_collect(gpu, &why);
        error = error > 0 ? STK_GPU_OK : error;
    }
    error = error != STK_GPU_OK ? error : stk_gpu_wait(gpu, number, &why);
    error = error != STK_GPU_OK ? error : stk_gpu_unpin(gpu, memory, &why);
    if (out != 0) {
        struct stk_gpu_why last;
        stk_gpu_wait(gpu, number, &last); /* of what came before the error */
        int result = give_memory(gpu, out, &last);
        if (error == STK_GPU_OK && result != STK_GPU_OK) {
            error = result;
            why = last;
        }
        if (world->memories > 0 && result != STK_GPU_OK) {
            gpu->driver->mem_free(out); /* it was not called, as the device is broken */
        }
    }
    return error;
}

/* Returns true if a failure of this call may go unreported: in a close, in a last pop. So may one
 * of a call that is tried again otherwise. */
static bool may_be_silent(const char *call, bool at_close)
{
    return at_close || strcmp(call, "cuCtxPopCurrent_v2") == 0 ||
           strcmp(call, "cuModuleLoadData") == 0;
}

static void try_life(long fail_at, bool for_good)
{
    unsigned char *memory =
        mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int sent = 0;
    let_gos = 0;
    why = (struct stk_gpu_why){0};
    world->calls = world->lost = 0;
    world->failed = NULL;
    world->fail_at = fail_at;
    world->for_good = for_good;
    int error = live(memory, &sent);
    bool at_close = world->failed == NULL;
    stk_gpu_close(gpu);
    const char *failed = world->failed == NULL ? "nothing" : world->failed;
    ck_assert_msg(error < 0 || failed == NULL || may_be_silent(failed, at_close),
                  "call %ld (%s) failed, and nobody was told", fail_at, failed);
    ck_assert_msg(error == STK_GPU_OK || strlen(why.text) > 20, "no reason for %s", failed);
    ck_assert_msg(let_gos == sent, "call %ld (%s): %d of %d let go of", fail_at, failed, let_gos,
                  sent);
    ck_assert_msg(world->wild == 0, "call %ld (%s): what was given back is used", fail_at, failed);
    ck_assert_msg(world->retained == 0 && world->pushed == 0, "call %ld (%s): a context is left",
                  fail_at, failed);
    /* If the context cannot be entered, it ends with all that is in it. */
    bool is_outside = at_close && strcmp(failed, "cuCtxPushCurrent_v2") == 0;
    ck_assert_msg(world->lost == 0 || is_outside, "call %ld (%s): %ld things are left", fail_at,
                  failed, world->lost);
    munmap(memory, BYTES);
}

START_TEST(every_call_may_fail_once)
{
    find_world();
    world->late_us = 100;
    long fail_at = 0;
    do {
        try_life(++fail_at, false);
    } while (world->failed != NULL);
    ck_assert_int_gt(fail_at, 150);
    assert_nothing_is_left();
}
END_TEST

/* A device that is lost: whatever is called from then on fails, and nothing runs any more. */
static int lose_the_device(void *context)
{
    long fail_at = *(const long *)context;
    try_life(fail_at, true);
    return world->failed == NULL ? 1 : 0;
}

START_TEST(a_device_may_be_lost_at_any_call)
{
    find_world();
    world->late_us = 100;
    for (long fail_at = 1; fail_at < 1000; fail_at += fail_at < 40 ? 1 : 7) {
        int status = unit_in_child(lose_the_device, &fail_at);
        ck_assert_int_ge(status, 0);
        if (status == 1) {
            return;
        }
    }
    ck_abort_msg("it does not come to its end");
}
END_TEST

/* ---- forks ---- */

static int use_in_child(void *context)
{
    uint64_t number = 1;
    long calls = world->calls;
    struct stk_gpu_batch *batch = context;
    int errors[] = {
        stk_gpu_send(gpu, batch, &number, &why),
        stk_gpu_collect(gpu, &why),
        stk_gpu_wait(gpu, 1, &why),
        stk_gpu_follow(gpu, 1, NULL, &why),
        stk_gpu_pin(gpu, &number, 8, &why),
        stk_gpu_unpin(gpu, &number, &why),
    };
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (errors[i] != STK_GPU_FORKED) {
            return 1;
        }
    }
    stk_gpu_close(gpu);
    if (world->calls != calls || let_gos != 0 || strstr(why.text, "child") == NULL) {
        return 2;
    }
    return stk_gpu_open(&gpu, 0, &why) == STK_GPU_FORKED && strstr(why.text, "spawn") != NULL ? 0
                                                                                              : 3;
}

START_TEST(a_child_of_fork_is_told_so)
{
    struct stk_gpu_image images[IMAGES];
    open_gpu();
    struct stk_gpu_plan plan = make_plan(STK_GPU_F32, STK_GPU_NCHW, 3);
    unsigned char *memory = locked_memory(BYTES);
    uint64_t out = take(&plan);
    lay_out(&plan, (uintptr_t)memory, images);
    struct stk_gpu_batch batch = {&plan, images,      IMAGES, memory, BYTES, out, STK_GPU_NO_STREAM,
                                  NULL,  count_let_go};
    send_ok(&batch);
    ck_assert_int_eq(unit_in_child(use_in_child, &batch), 0);
    ck_assert_int_eq(stk_gpu_wait(gpu, 1, &why), STK_GPU_OK); /* here it goes on */
    ck_assert_int_eq(give_memory(gpu, out, &why), STK_GPU_OK);
    stk_gpu_close(gpu);
    ck_assert_int_eq(let_gos, 1);
    assert_nothing_is_left();
}
END_TEST

/* ---- many ---- */

static int count_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++) {
        count += dup2(fd, fd) >= 0;
    }
    return count;
}

START_TEST(nothing_is_left_of_a_thousand)
{
    find_world();
    world->late_us = 0;
    int before = count_descriptors();
    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(stk_gpu_open(&gpu, 0, &why), STK_GPU_OK);
        stk_gpu_close(gpu);
    }
    ck_assert_int_eq(count_descriptors(), before);
    assert_nothing_is_left();
}
END_TEST

Suite *suite_gpu(void)
{
    Suite *suite = suite_create("gpu");
    TCase *way = unit_case(suite, "gpu_way");
    tcase_add_test(way, what_comes_out_is_what_is_made_here);
    tcase_add_test(way, images_on_the_device_are_not_copied);
    tcase_add_test(way, slots_are_not_given_back_before_they_are_copied);
    tcase_add_test(way, batches_may_become_larger);
    tcase_add_test(way, an_early_end_waits_for_what_is_on_its_way);
    tcase_add_test(way, a_consumer_s_stream_waits_for_the_batch);
    tcase_add_test(way, a_batch_waits_for_the_consumer_s_stream);
    TCase *locked = unit_case(suite, "gpu_locked");
    tcase_add_test(locked, memory_is_locked_in_chunks_and_copied_by_them);
    tcase_add_test(locked, unpinning_waits_for_copies);
    tcase_add_test(locked, what_cannot_be_locked_is_explained);
    tcase_add_test(locked, memory_that_is_not_locked_is_sent_as_well);
    TCase *none = unit_case(suite, "gpu_none");
    tcase_add_test(none, no_driver_is_no_gpu);
    tcase_add_test(none, a_driver_that_is_too_old_is_no_gpu);
    tcase_add_test(none, a_driver_without_a_device_is_no_gpu);
    tcase_add_test(none, a_device_that_is_too_old_is_no_gpu);
    TCase *wrong = unit_case(suite, "gpu_wrong");
    tcase_add_test(wrong, a_device_without_memory_says_so_and_goes_on);
    tcase_add_test(wrong, batches_that_make_no_sense_are_refused);
    tcase_add_test(wrong, every_call_may_fail_once);
    tcase_add_test(wrong, a_device_may_be_lost_at_any_call);
    tcase_add_test(wrong, a_child_of_fork_is_told_so);
    tcase_add_test(wrong, nothing_is_left_of_a_thousand);
    return suite;
}
