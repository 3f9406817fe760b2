#include "gpu/jpegs.h"

#include <stdio.h>
#include <stdlib.h>

#include "gpu/context.h"
#include "gpu/nvjpeg.h"

#define CPU_THREADS 1 /* the calling thread parses */

struct stk_gpu_jpegs {
    struct stk_gpu *gpu;
    struct stk_gpu_nvjpeg calls;
    char name[64];
    void *handle, *state; /* nvJPEG's; the state is one batch's at a time */
    void *header;         /* of an image that is looked at */
    void *done;           /* event: the last batch is out */
    bool is_under_way;    /* it was recorded */

    /* A batch as nvJPEG takes it. */
    const unsigned char **bytes;
    size_t *sizes;
    struct stk_nvjpeg_image *images;
    size_t room;
};

const char *stk_gpu_jpegs_name(const struct stk_gpu_jpegs *jpegs)
{
    return jpegs->name;
}

/* ---- ending ---- */

static void end_inside(void *argument)
{
    struct stk_gpu_jpegs *jpegs = argument;
    const struct stk_gpu_driver *driver = jpegs->gpu->driver;
    if (jpegs->is_under_way && driver->event_synchronize(jpegs->done) != 0) {
        driver->event_synchronize(jpegs->done); /* the first may have told of something before */
    }
    if (jpegs->header != NULL) {
        jpegs->calls.header_destroy(jpegs->header);
    }
    if (jpegs->state != NULL) {
        jpegs->calls.state_destroy(jpegs->state);
    }
    if (jpegs->handle != NULL) {
        jpegs->calls.destroy(jpegs->handle);
    }
    if (jpegs->done != NULL) {
        driver->event_destroy(jpegs->done);
    }
    jpegs->header = jpegs->state = jpegs->handle = jpegs->done = NULL;
}

static void free_room(struct stk_gpu_jpegs *jpegs)
{
    free(jpegs->bytes);
    free(jpegs->sizes);
    free(jpegs->images);
}

void stk_gpu_jpegs_close(struct stk_gpu_jpegs *jpegs)
{
    if (jpegs == NULL) {
        return;
    }
    stk_gpu_give_back(jpegs->gpu, end_inside, jpegs);
    free_room(jpegs);
    free(jpegs);
}

/* ---- beginning ---- */

static void name(struct stk_gpu_jpegs *jpegs, bool by_engine)
{
    int major = 0, minor = 0;
    jpegs->calls.get_property(STK_NVJPEG_MAJOR, &major);
    jpegs->calls.get_property(STK_NVJPEG_MINOR, &minor);
    snprintf(jpegs->name, sizeof jpegs->name, "nvJPEG %d.%d, by %s", major, minor,
             by_engine ? "the JPEG engine" : "kernels");
}

/* Where there is no engine nvJPEG says so. */
static int create_handle(struct stk_gpu_jpegs *jpegs)
{
    int result = jpegs->calls.create(STK_NVJPEG_HARDWARE, NULL, NULL, 0, &jpegs->handle);
    bool by_engine = result == 0;
    if (!by_engine) {
        result = jpegs->calls.create(STK_NVJPEG_GPU_HYBRID, NULL, NULL, 0, &jpegs->handle);
    }
    if (result != 0) {
        jpegs->handle = NULL;
        return result;
    }
    name(jpegs, by_engine);
    return 0;
}

static int create(struct stk_gpu_jpegs *jpegs, const char *library, struct stk_gpu_why *why)
{
    char what[128];
    int result = create_handle(jpegs);
    if (result == 0) {
        result = jpegs->calls.state_create(jpegs->handle, &jpegs->state);
    }
    if (result == 0) {
        result = jpegs->calls.header_create(jpegs->handle, &jpegs->header);
    }
    snprintf(what, sizeof what, "begin (%s)", library);
    return result == 0 ? STK_GPU_OK : stk_gpu_nvjpeg_failed(result, what, why);
}

/* Begins with one library. If it fails, another one may do: an older one, for an older driver. */
static int begin_with(struct stk_gpu_jpegs *jpegs, const char *library, struct stk_gpu_why *why)
{
    int error = create(jpegs, library, why);
    if (error == STK_GPU_FAILED) {
        end_inside(jpegs);
        error = why->error = STK_GPU_NONE;
    }
    return error;
}

/* Notes why the last library that exists cannot be used; if none exists, why the first does not. */
static int try_all(struct stk_gpu_jpegs *jpegs, const char *const *libraries,
                   struct stk_gpu_why *why)
{
    int error = stk_gpu_why_say(why, STK_GPU_NONE, "no nvJPEG");
    for (size_t i = 0; libraries[i] != NULL && error == STK_GPU_NONE; i++) {
        struct stk_gpu_why other = {0};
        bool is_there = stk_gpu_nvjpeg_find(&jpegs->calls, libraries[i], &other) == STK_GPU_OK;
        if (is_there) {
            error = begin_with(jpegs, libraries[i], &other);
        }
        if (error != STK_GPU_OK && (is_there || i == 0)) {
            *why = other;
        }
    }
    return error;
}

static int begin_inside(struct stk_gpu_jpegs *jpegs, const char *const *libraries,
                        struct stk_gpu_why *why)
{
    int error = try_all(jpegs, libraries, why);
    if (error != STK_GPU_OK) {
        return error;
    }
    int result = jpegs->gpu->driver->event_create(&jpegs->done, STK_CUDA_EVENT_PLAIN);
    return result == 0 ? STK_GPU_OK : stk_gpu_refused(jpegs->gpu, result, "make an event", why);
}

int stk_gpu_jpegs_open(struct stk_gpu_jpegs **out, struct stk_gpu *gpu,
                       const char *const *libraries, struct stk_gpu_why *why)
{
    *out = NULL;
    int error = stk_gpu_enter(gpu, why);
    if (error != STK_GPU_OK) {
        return error;
    }
    struct stk_gpu_jpegs *jpegs = calloc(1, sizeof *jpegs);
    if (jpegs == NULL) {
        return stk_gpu_leave(gpu, stk_gpu_why_say(why, STK_GPU_MEMORY, "no memory"));
    }
    jpegs->gpu = gpu;
    error = stk_gpu_leave(gpu, begin_inside(jpegs, libraries, why));
    if (error != STK_GPU_OK) {
        stk_gpu_jpegs_close(jpegs);
        return error;
    }
    *out = jpegs;
    return STK_GPU_OK;
}

/* ---- decoding ---- */

static int make_room(struct stk_gpu_jpegs *jpegs, size_t count, struct stk_gpu_why *why)
{
    if (count <= jpegs->room) {
        return STK_GPU_OK;
    }
    free_room(jpegs);
    jpegs->bytes = calloc(count, sizeof *jpegs->bytes);
    jpegs->sizes = calloc(count, sizeof *jpegs->sizes);
    jpegs->images = calloc(count, sizeof *jpegs->images);
    bool is_there = jpegs->bytes != NULL && jpegs->sizes != NULL && jpegs->images != NULL;
    jpegs->room = is_there ? count : 0;
    return is_there ? STK_GPU_OK : stk_gpu_why_say(why, STK_GPU_MEMORY, "no memory");
}

/* The state is still the last batch's until that is out. */
static int wait_for_last(struct stk_gpu_jpegs *jpegs, struct stk_gpu_why *why)
{
    if (!jpegs->is_under_way) {
        return STK_GPU_OK;
    }
    int result = jpegs->gpu->driver->event_synchronize(jpegs->done);
    jpegs->is_under_way = result != 0;
    return result == 0 ? STK_GPU_OK : stk_gpu_break(jpegs->gpu, result, "wait for a batch", why);
}

/* Returns true if nvJPEG takes the image, and finds the size that its memory was made for. */
static bool is_taken(const struct stk_gpu_jpegs *jpegs, const struct stk_gpu_jpeg *image)
{
    unsigned width, height;
    int unsupported = 1;
    const struct stk_gpu_nvjpeg *calls = &jpegs->calls;
    return calls->header_parse(jpegs->handle, image->bytes, image->size, jpegs->header) == 0 &&
           calls->header_size(jpegs->header, &width, &height) == 0 && width == image->width &&
           height == image->height &&
           calls->is_supported(jpegs->handle, jpegs->header, &unsupported) == 0 && unsupported == 0;
}

static void place(const struct stk_gpu_jpegs *jpegs, size_t at, const struct stk_gpu_jpeg *image)
{
    struct stk_nvjpeg_image *to = &jpegs->images[at];
    *to = (struct stk_nvjpeg_image){.pitch = {0}};
    for (size_t plane = 0; plane < 3; plane++) {
        uint64_t from = plane * image->width * image->height;
        to->channel[plane] = (unsigned char *)(uintptr_t)(image->out + from);
        to->pitch[plane] = image->width;
    }
    jpegs->bytes[at] = image->bytes;
    jpegs->sizes[at] = image->size;
}

/* How many are taken. */
static size_t choose(struct stk_gpu_jpegs *jpegs, struct stk_gpu_jpeg *images, size_t count)
{
    size_t taken = 0;
    for (size_t i = 0; i < count; i++) {
        images[i].is_begun = is_taken(jpegs, &images[i]);
        if (images[i].is_begun) {
            place(jpegs, taken++, &images[i]);
        }
    }
    return taken;
}

/* Begins a batch. A call that fails may have begun some work too. */
static int begin_batch(struct stk_gpu_jpegs *jpegs, size_t count, void *stream)
{
    const struct stk_gpu_nvjpeg *calls = &jpegs->calls;
    int result =
        calls->batch_begin(jpegs->handle, jpegs->state, (int)count, CPU_THREADS, STK_NVJPEG_RGB);
    if (result == 0) {
        result = calls->batch_decode(jpegs->handle, jpegs->state, jpegs->bytes, jpegs->sizes,
                                     jpegs->images, stream);
    }
    return result;
}

/* Records the end of the batch. If that fails, waits: there is no other sign of when the state is
 * free again. */
static int mark_end(struct stk_gpu_jpegs *jpegs, void *stream, struct stk_gpu_why *why)
{
    const struct stk_gpu_driver *driver = jpegs->gpu->driver;
    int result = driver->event_record(jpegs->done, stream);
    jpegs->is_under_way = result == 0;
    if (result == 0) {
        return STK_GPU_OK;
    }
    driver->stream_synchronize(stream);
    return stk_gpu_break(jpegs->gpu, result, "decode a batch", why);
}

/* nvJPEG does not say which image of a batch it rejects: then all are for another decoder. */
static int decode_inside(struct stk_gpu_jpegs *jpegs, struct stk_gpu_jpeg *images, size_t count,
                         void *stream, struct stk_gpu_why *why)
{
    int error = wait_for_last(jpegs, why);
    error = error != STK_GPU_OK ? error : make_room(jpegs, count, why);
    size_t taken = error == STK_GPU_OK ? choose(jpegs, images, count) : 0;
    if (taken == 0) {
        return error;
    }
    int result = begin_batch(jpegs, taken, stream);
    error = mark_end(jpegs, stream, why);
    for (size_t i = 0; i < count && result != 0; i++) {
        images[i].is_begun = false;
    }
    if (error != STK_GPU_OK || result == 0 || stk_gpu_nvjpeg_is_of_image(result)) {
        return error;
    }
    return stk_gpu_nvjpeg_failed(result, "decode a batch", why);
}

int stk_gpu_jpegs_decode(struct stk_gpu_jpegs *jpegs, struct stk_gpu_jpeg *images, size_t count,
                         void *stream, struct stk_gpu_why *why)
{
    int error = stk_gpu_enter(jpegs->gpu, why);
    for (size_t i = 0; i < count; i++) {
        images[i].is_begun = false;
    }
    return error != STK_GPU_OK
               ? error
               : stk_gpu_leave(jpegs->gpu, decode_inside(jpegs, images, count, stream, why));
}
