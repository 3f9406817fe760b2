/* The driver of the tests. See tests/gpu/world.h. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/host.h"
#include "tests/gpu/walk.h"
#include "tests/gpu/world.h"

#define EXPORT __attribute__((visibility("default")))

enum {
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_CONTEXT = 201,
    NO_BINARY = 209,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ALREADY_LOCKED = 712,
    NOT_LOCKED = 713,
};

static struct cuda_world world = {
    .version = 13000,
    .devices = 1,
    .capability = 90,
    .device_bytes = (size_t)1 << 32,
    .locked_bytes = SIZE_MAX,
    .late_us = 200,
    .fail_with = 999,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pid_t begun_by;
static bool is_dead;
static __thread int depth; /* of the stack of contexts */

EXPORT struct cuda_world *cuda_world(void)
{
    return &world;
}

/* Takes the lock. A child of fork may call, and learns that it is one. */
static void take_lock(void)
{
    pthread_mutex_lock(&lock);
}

static void let_go_of_lock(void)
{
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void hold_still_for_forks(void)
{
    pthread_atfork(take_lock, let_go_of_lock, let_go_of_lock);
}

/* ---- every call ---- */

/* With the lock taken. */
static int count(const char *name)
{
    world.calls++;
    if (begun_by != 0 && begun_by != getpid()) {
        return NOT_INITIALIZED;
    }
    if (world.fail_at == 0 || world.calls < world.fail_at ||
        (!world.for_good && world.calls > world.fail_at)) {
        return 0;
    }
    world.failed = world.failed != NULL ? world.failed : name;
    is_dead = is_dead || world.for_good;
    pthread_cond_broadcast(&changed);
    return world.fail_with;
}

/* Begins a call that does nothing when it fails. */
#define BEGIN(needs)                                                                               \
    pthread_mutex_lock(&lock);                                                                     \
    int result = count(__func__);                                                                  \
    if (result == 0 && (needs) > 0 && begun_by == 0) {                                             \
        result = NOT_INITIALIZED;                                                                  \
    }                                                                                              \
    if (result == 0 && (needs) > 1 && depth == 0) {                                                \
        result = INVALID_CONTEXT;                                                                  \
    }                                                                                              \
    if (result != 0) {                                                                             \
        pthread_mutex_unlock(&lock);                                                               \
        return result;                                                                             \
    }
/* Begins a call that gives something back: it does so even when it returns an error. */
#define BEGIN_GIVING_BACK()                                                                        \
    pthread_mutex_lock(&lock);                                                                     \
    int result = count(__func__)
#define END(value)                                                                                 \
    do {                                                                                           \
        result = (value);                                                                          \
        pthread_mutex_unlock(&lock);                                                               \
        return result;                                                                             \
    } while (0)

#define NEEDS_NOTHING 0
#define NEEDS_INIT    1
#define NEEDS_CONTEXT 2

/* ---- memory ---- */

struct piece {
    uintptr_t at;
    size_t bytes;
    struct piece *next;
};

static struct piece *memories, *locks;

static struct piece *find_piece(struct piece *list, uintptr_t at)
{
    while (list != NULL && (at < list->at || at - list->at >= list->bytes)) {
        list = list->next;
    }
    return list;
}

static bool is_there(struct piece *list, uintptr_t at, size_t bytes)
{
    const struct piece *piece = find_piece(list, at);
    return bytes == 0 || (piece != NULL && bytes <= piece->bytes - (at - piece->at));
}

static bool overlaps(const struct piece *list, uintptr_t at, size_t bytes)
{
    while (list != NULL && (at >= list->at + list->bytes || at + bytes <= list->at)) {
        list = list->next;
    }
    return list != NULL;
}

static void add_piece(struct piece **list, uintptr_t at, size_t bytes)
{
    struct piece *piece = malloc(sizeof *piece);
    *piece = (struct piece){at, bytes, *list};
    *list = piece;
}

/* Its size; 0: there is none that begins there. */
static size_t remove_piece(struct piece **list, uintptr_t at)
{
    while (*list != NULL && (*list)->at != at) {
        list = &(*list)->next;
    }
    struct piece *piece = *list;
    size_t bytes = piece == NULL ? 0 : piece->bytes;
    if (piece != NULL) {
        *list = piece->next;
        free(piece);
    }
    return bytes;
}

/* ---- streams ---- */

struct event {
    uint64_t recorded, done;
    bool is_over;
    int waiting; /* operations that name it */
};

enum kind { COPY, KERNEL, RECORD, WAIT };

struct operation {
    enum kind kind;
    uintptr_t to, from;
    size_t bytes;
    bool is_locked;
    struct event *event;
    uint64_t which; /* of the event's records */
    const struct walk_entry *entry;
    struct stk_gpu_job job;
    uint32_t columns, rows;
    struct operation *next;
};

struct stream {
    struct operation *first, **last;
    bool is_busy, is_over;
};

static struct stream *of_default;

static void drop_event(struct event *event)
{
    if (event->is_over && event->waiting == 0) {
        free(event);
    }
}

/* Returns true if all memory that a kernel touches is there. The images are looked at only if they
 * are. */
static bool may_run(const struct operation *operation)
{
    const struct stk_gpu_job *job = &operation->job;
    size_t channels = operation->entry->channels;
    size_t out = (size_t)job->count * job->width * job->height * channels *
                 stk_gpu_type_bytes(operation->entry->type);
    const struct stk_gpu_image *images = (const struct stk_gpu_image *)job->images;
    if (!is_there(memories, job->images, job->count * sizeof *images) ||
        !is_there(memories, job->out, out) || job->count != operation->rows) {
        return false;
    }
    for (uint32_t i = 0; i < job->count; i++) {
        size_t bytes =
            (size_t)(images[i].height - 1) * images[i].stride + images[i].width * channels;
        if (!is_there(memories, images[i].pixels, bytes)) {
            return false;
        }
    }
    return true;
}

static void do_copy(const struct operation *operation)
{
    if (!is_there(memories, operation->to, operation->bytes) ||
        (operation->is_locked && !is_there(locks, operation->from, operation->bytes))) {
        world.wild++;
        return;
    }
    memcpy((void *)operation->to, (const void *)operation->from, operation->bytes);
    world.copies++;
}

static void do_kernel(const struct operation *operation)
{
    if (!may_run(operation)) {
        world.wild++;
        return;
    }
    walk(operation->entry, &operation->job, operation->columns, operation->rows);
    world.kernels++;
}

/* With the lock taken, which it lets go of while it waits. */
static void do_operation(const struct operation *operation)
{
    struct event *event = operation->event;
    switch (operation->kind) {
    case COPY:
        do_copy(operation);
        break;
    case KERNEL:
        do_kernel(operation);
        break;
    case RECORD:
        event->done = operation->which > event->done ? operation->which : event->done;
        break;
    case WAIT:
        while (event->done < operation->which && !is_dead) {
            pthread_cond_wait(&changed, &lock);
        }
        break;
    }
    if (event != NULL) {
        event->waiting--;
        drop_event(event);
    }
}

static void be_late(const struct operation *operation)
{
    static uint32_t state = 1;
    state = state * 1664525U + 1013904223U;
    unsigned us = world.late_us == 0 ? 0 : (state >> 8) % (world.late_us + 1);
    if (operation->kind == COPY && world.copy_mb_s > 0) {
        us += (unsigned)(operation->bytes / world.copy_mb_s);
    }
    pthread_mutex_unlock(&lock);
    usleep(us);
    pthread_mutex_lock(&lock);
}

/* Runs the next operation. Where the device is dead nothing is done any more, and no caller
 * waits. */
static void run_next(struct stream *stream)
{
    struct operation *operation = stream->first;
    stream->first = operation->next;
    stream->last = stream->first == NULL ? &stream->first : stream->last;
    stream->is_busy = true;
    be_late(operation);
    if (!is_dead) {
        do_operation(operation);
    }
    stream->is_busy = false;
    free(operation);
    pthread_cond_broadcast(&changed);
}

static void *run(void *argument)
{
    struct stream *stream = argument;
    pthread_mutex_lock(&lock);
    while (stream->first != NULL || !stream->is_over) {
        if (stream->first != NULL) {
            run_next(stream);
        } else {
            pthread_cond_wait(&changed, &lock);
        }
    }
    free(stream);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static struct stream *make_stream(void)
{
    pthread_t thread;
    struct stream *stream = calloc(1, sizeof *stream);
    stream->last = &stream->first;
    if (pthread_create(&thread, NULL, run, stream) != 0) {
        abort();
    }
    pthread_detach(thread);
    return stream;
}

/* 0, 1 and 2 are names of the default one. */
static struct stream *stream_of(void *handle)
{
    if ((uintptr_t)handle > 2) {
        return handle;
    }
    of_default = of_default != NULL ? of_default : make_stream();
    return of_default;
}

static void begin(void *stream, const struct operation *operation)
{
    struct stream *on = stream_of(stream);
    struct operation *copy = malloc(sizeof *copy);
    *copy = *operation;
    copy->next = NULL;
    if (copy->event != NULL) {
        copy->event->waiting++;
    }
    *on->last = copy;
    on->last = &copy->next;
    pthread_cond_broadcast(&changed);
}

static int finish(struct stream *stream)
{
    while ((stream->first != NULL || stream->is_busy) && !is_dead) {
        pthread_cond_wait(&changed, &lock);
    }
    return is_dead ? world.fail_with : 0;
}

/* ---- beginning ---- */

EXPORT int cuInit(unsigned flags);
EXPORT int cuInit(unsigned flags)
{
    BEGIN(NEEDS_NOTHING);
    if (flags != 0) {
        END(INVALID_VALUE);
    }
    if (world.devices == 0) {
        END(NO_DEVICE);
    }
    begun_by = getpid();
    END(0);
}

EXPORT int cuDriverGetVersion(int *version);
EXPORT int cuDriverGetVersion(int *version)
{
    BEGIN(NEEDS_NOTHING);
    *version = world.version;
    END(0);
}

EXPORT int cuGetErrorName(int error, const char **name);
EXPORT int cuGetErrorName(int error, const char **name)
{
    *name = error == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_OF_THE_TESTS";
    return 0;
}

EXPORT int cuDeviceGetCount(int *devices);
EXPORT int cuDeviceGetCount(int *devices)
{
    BEGIN(NEEDS_INIT);
    *devices = world.devices;
    END(0);
}

EXPORT int cuDeviceGet(int *device, int ordinal);
EXPORT int cuDeviceGet(int *device, int ordinal)
{
    BEGIN(NEEDS_INIT);
    *device = ordinal;
    END(ordinal < world.devices ? 0 : INVALID_DEVICE);
}

EXPORT int cuDeviceGetName(char *name, int bytes, int device);
EXPORT int cuDeviceGetName(char *name, int bytes, int device)
{
    BEGIN(NEEDS_INIT);
    strncpy(name, device == 0 ? "the first" : "another", (size_t)bytes);
    END(0);
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device);
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    BEGIN(NEEDS_INIT);
    (void)device;
    *value = attribute == 75 ? world.capability / 10 : world.capability % 10;
    END(attribute == 75 || attribute == 76 ? 0 : INVALID_VALUE);
}

/* ---- the context ---- */

static int context;

EXPORT int cuDevicePrimaryCtxRetain(void **out, int device);
EXPORT int cuDevicePrimaryCtxRetain(void **out, int device)
{
    BEGIN(NEEDS_INIT);
    (void)device;
    world.retained++;
    *out = &context;
    END(0);
}

static void free_memory(uintptr_t at)
{
    size_t bytes = remove_piece(&memories, at);
    if (bytes > 0) {
        free((void *)at);
        world.memories--;
        world.device_used -= bytes;
    }
}

static size_t unlock_memory(uintptr_t at)
{
    size_t bytes = remove_piece(&locks, at);
    if (bytes > 0) {
        world.locks--;
        world.locked_used -= bytes;
    }
    return bytes;
}

/* The end of a context is the end of all that is in it. */
static void end_context(void)
{
    world.lost += world.modules + world.streams + world.events + world.memories + world.locks;
    while (memories != NULL) {
        free_memory(memories->at);
    }
    while (locks != NULL) {
        unlock_memory(locks->at);
    }
    world.modules = world.streams = world.events = 0;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int device);
EXPORT int cuDevicePrimaryCtxRelease_v2(int device)
{
    BEGIN_GIVING_BACK();
    (void)device;
    if (--world.retained == 0) {
        end_context();
    }
    END(result);
}

EXPORT int cuCtxPushCurrent_v2(void *pushed);
EXPORT int cuCtxPushCurrent_v2(void *pushed)
{
    BEGIN(NEEDS_INIT);
    depth++;
    world.pushed++;
    END(pushed == &context && world.retained > 0 ? 0 : INVALID_CONTEXT);
}

EXPORT int cuCtxPopCurrent_v2(void **popped);
EXPORT int cuCtxPopCurrent_v2(void **popped)
{
    BEGIN_GIVING_BACK();
    *popped = &context;
    depth--;
    world.pushed--;
    END(result);
}

/* ---- the kernel ---- */

static int module;

EXPORT int cuModuleLoadData(void **out, const void *image);
EXPORT int cuModuleLoadData(void **out, const void *image)
{
    BEGIN(NEEDS_CONTEXT);
    if (strcmp(image, "the kernel as text") != 0 && world.takes_ptx_only) {
        END(NO_BINARY);
    }
    world.modules++;
    *out = &module;
    END(0);
}

EXPORT int cuModuleUnload(void *loaded);
EXPORT int cuModuleUnload(void *loaded)
{
    BEGIN_GIVING_BACK();
    world.modules--;
    END(loaded == &module ? result : INVALID_HANDLE);
}

EXPORT int cuModuleGetFunction(void **function, void *loaded, const char *name);
EXPORT int cuModuleGetFunction(void **function, void *loaded, const char *name)
{
    BEGIN(NEEDS_CONTEXT);
    *function = (void *)(uintptr_t)walk_entry(name);
    END(*function != NULL && loaded == &module ? 0 : NOT_FOUND);
}

EXPORT int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                          void *stream, void **parameters, void **extra);
EXPORT int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                          void *stream, void **parameters, void **extra)
{
    BEGIN(NEEDS_CONTEXT);
    if (block_x != STK_GPU_THREADS || block_y != 1 || block_z != 1 || grid_z != 1 || shared != 0 ||
        grid_y > 65535 || grid_x == 0 || grid_y == 0 || extra != NULL) {
        END(INVALID_VALUE);
    }
    struct operation operation = {
        .kind = KERNEL,
        .entry = function,
        .columns = grid_x,
        .rows = grid_y,
    };
    memcpy(&operation.job, parameters[0], sizeof operation.job);
    begin(stream, &operation);
    END(0);
}

/* ---- memory, as it is called ---- */

EXPORT int cuMemAlloc_v2(unsigned long long *address, size_t bytes);
EXPORT int cuMemAlloc_v2(unsigned long long *address, size_t bytes)
{
    BEGIN(NEEDS_CONTEXT);
    if (bytes == 0) {
        END(INVALID_VALUE);
    }
    if (bytes + world.device_used > world.device_bytes) {
        END(OUT_OF_MEMORY);
    }
    void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    memset(memory, 0xa5, bytes);
    add_piece(&memories, (uintptr_t)memory, bytes);
    world.memories++;
    world.device_used += bytes;
    *address = (uintptr_t)memory;
    END(0);
}

EXPORT int cuMemFree_v2(unsigned long long address);
EXPORT int cuMemFree_v2(unsigned long long address)
{
    BEGIN_GIVING_BACK();
    if (find_piece(memories, (uintptr_t)address) == NULL) {
        END(INVALID_VALUE);
    }
    free_memory((uintptr_t)address);
    END(result);
}

static int lock_memory(void *memory, size_t bytes)
{
    if (bytes == 0 || overlaps(locks, (uintptr_t)memory, bytes)) {
        return bytes == 0 ? INVALID_VALUE : ALREADY_LOCKED;
    }
    if (bytes + world.locked_used > world.locked_bytes) {
        return OUT_OF_MEMORY;
    }
    add_piece(&locks, (uintptr_t)memory, bytes);
    world.locks++;
    world.locked_used += bytes;
    return 0;
}

EXPORT int cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags);
EXPORT int cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags)
{
    BEGIN(NEEDS_CONTEXT);
    (void)flags;
    END(lock_memory(memory, bytes));
}

EXPORT int cuMemHostUnregister(void *memory);
EXPORT int cuMemHostUnregister(void *memory)
{
    BEGIN_GIVING_BACK();
    END(unlock_memory((uintptr_t)memory) == 0 ? NOT_LOCKED : result);
}

/* Counted as what is locked, though not against the limit. */
EXPORT int cuMemHostAlloc(void **out, size_t bytes, unsigned flags);
EXPORT int cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    BEGIN(NEEDS_CONTEXT);
    (void)flags;
    *out = malloc(bytes);
    add_piece(&locks, (uintptr_t)*out, bytes);
    world.locks++;
    world.locked_used += bytes;
    END(0);
}

EXPORT int cuMemFreeHost(void *memory);
EXPORT int cuMemFreeHost(void *memory)
{
    BEGIN_GIVING_BACK();
    if (unlock_memory((uintptr_t)memory) == 0) {
        END(INVALID_VALUE);
    }
    free(memory);
    END(result);
}

/* Memory that is not locked is read at once, after all that was begun before. */
EXPORT int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes,
                                void *stream);
EXPORT int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes, void *stream)
{
    BEGIN(NEEDS_CONTEXT);
    bool is_locked = is_there(locks, (uintptr_t)from, bytes);
    if (!is_there(memories, (uintptr_t)to, bytes) ||
        (!is_locked && overlaps(locks, (uintptr_t)from, bytes))) {
        END(INVALID_VALUE);
    }
    begin(stream, &(struct operation){.kind = COPY,
                                      .to = (uintptr_t)to,
                                      .from = (uintptr_t)from,
                                      .bytes = bytes,
                                      .is_locked = is_locked});
    END(is_locked ? 0 : finish(stream_of(stream)));
}

/* It waits for nothing but the default stream. */
EXPORT int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes);
EXPORT int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes)
{
    BEGIN(NEEDS_CONTEXT);
    if (!is_there(memories, (uintptr_t)from, bytes)) {
        END(INVALID_VALUE);
    }
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    END(0);
}

/* For `make test-gpu`, which measures by it; here at once. */
EXPORT int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes,
                                void *stream);
EXPORT int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes,
                                void *stream)
{
    BEGIN(NEEDS_CONTEXT);
    (void)stream;
    memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
    END(0);
}

/* ---- streams and events, as they are called ---- */

EXPORT int cuStreamCreate(void **stream, unsigned flags);
EXPORT int cuStreamCreate(void **stream, unsigned flags)
{
    BEGIN(NEEDS_CONTEXT);
    (void)flags;
    *stream = make_stream();
    world.streams++;
    END(0);
}

/* Destroys a stream. Work that was begun on it is done all the same. */
EXPORT int cuStreamDestroy_v2(void *stream);
EXPORT int cuStreamDestroy_v2(void *stream)
{
    BEGIN_GIVING_BACK();
    ((struct stream *)stream)->is_over = true;
    pthread_cond_broadcast(&changed);
    world.streams--;
    END(result);
}

EXPORT int cuStreamSynchronize(void *stream);
EXPORT int cuStreamSynchronize(void *stream)
{
    BEGIN(NEEDS_INIT);
    END(finish(stream_of(stream)));
}

/* For what was recorded last at the time of this call. */
EXPORT int cuStreamWaitEvent(void *stream, void *event, unsigned flags);
EXPORT int cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    BEGIN(NEEDS_CONTEXT);
    (void)flags;
    uint64_t which = ((struct event *)event)->recorded;
    begin(stream, &(struct operation){.kind = WAIT, .event = event, .which = which});
    END(0);
}

EXPORT int cuEventCreate(void **event, unsigned flags);
EXPORT int cuEventCreate(void **event, unsigned flags)
{
    BEGIN(NEEDS_CONTEXT);
    (void)flags;
    *event = calloc(1, sizeof(struct event));
    world.events++;
    END(0);
}

EXPORT int cuEventDestroy_v2(void *event);
EXPORT int cuEventDestroy_v2(void *event)
{
    BEGIN_GIVING_BACK();
    ((struct event *)event)->is_over = true;
    drop_event(event);
    world.events--;
    END(result);
}

EXPORT int cuEventRecord(void *event, void *stream);
EXPORT int cuEventRecord(void *event, void *stream)
{
    BEGIN(NEEDS_CONTEXT);
    uint64_t which = ++((struct event *)event)->recorded;
    begin(stream, &(struct operation){.kind = RECORD, .event = event, .which = which});
    END(0);
}

EXPORT int cuEventQuery(void *event);
EXPORT int cuEventQuery(void *event)
{
    BEGIN(NEEDS_CONTEXT);
    const struct event *asked = event;
    END(asked->done >= asked->recorded ? 0 : NOT_READY);
}

EXPORT int cuEventSynchronize(void *event);
EXPORT int cuEventSynchronize(void *event)
{
    BEGIN(NEEDS_INIT);
    const struct event *asked = event;
    uint64_t which = asked->recorded;
    while (asked->done < which && !is_dead) {
        pthread_cond_wait(&changed, &lock);
    }
    END(is_dead ? world.fail_with : 0);
}
