/* An open device: its parts, its context and its errors. Only for gpu/ itself; see gpu/gpu.h. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "gpu/driver.h"
#include "gpu/gpu.h"

/* The host memory that one call locks: drivers from 580 on have failed with 512 GiB and more at
 * once. A copy must not cross from one chunk to the next. */
#define STK_GPU_CHUNK_BYTES ((size_t)1 << 30)

#define STK_CUDA_EVENT_PLAIN 2U /* without time, which makes it quick */

enum { STK_GPU_TYPES = 3, STK_GPU_LAYOUTS = 2 };

/* Memory that was locked. */
struct stk_gpu_pin {
    unsigned char *memory;
    size_t bytes;
    struct stk_gpu_pin *next;
};

/* The resources of a batch on its way. The batch STK_GPU_LANES numbers later uses them again. */
struct stk_gpu_lane {
    uint64_t number; /* of the batch that uses it or used it last; 0: none yet */
    bool is_held;    /* the holder was not let go of yet */
    void (*let_go)(void *holder);
    void *holder;
    uint64_t bytes_at, images_at; /* on the device: the images' bytes, and their descriptions */
    size_t bytes, images;         /* the room for each */
    struct stk_gpu_image *told;   /* the descriptions in locked memory of this process */
    void *left, *out;             /* events: the batch is copied; the batch is finished */
};

struct stk_gpu {
    const struct stk_gpu_driver *driver;
    pid_t owner;
    int device;
    char name[128];
    void *context, *module;
    void *functions[STK_GPU_TYPES][STK_GPU_LAYOUTS][2]; /* for one channel, and for three */
    void *copies, *work;                                /* streams */
    void *before; /* event: earlier work of a caller's stream */
    struct stk_gpu_pin *pins;
    size_t chunk_bytes;
    uint64_t sent; /* the last batch's number */
    struct stk_gpu_lane lanes[STK_GPU_LANES];
    struct stk_gpu_why broken; /* the first failure; STK_GPU_OK: none */
};

/* Returns true in a child of fork, where the driver is its parent's. */
bool stk_gpu_is_childs(const struct stk_gpu *gpu);

/* Every call begins and ends with these. If stk_gpu_enter() returns an error, stk_gpu_leave() is
 * not called. stk_gpu_leave() returns the given result. */
int stk_gpu_enter(struct stk_gpu *gpu, struct stk_gpu_why *why);
int stk_gpu_leave(struct stk_gpu *gpu, int result);

/* Calls give(what) inside the device's context, also after a failure. In a child of fork it does
 * nothing. */
void stk_gpu_give_back(struct stk_gpu *gpu, void (*give)(void *), void *what);
/* Makes a call of the driver for a handle, unless that was never made. */
static inline void stk_gpu_if_made(int (*call)(void *), void *handle)
{
    if (handle != NULL) {
        call(handle);
    }
}

/*
 * Both take what the driver's call returned, and return STK_GPU_OK if it has not failed.
 * stk_gpu_refused() notes why it failed; the device can still be used.
 */
int stk_gpu_refused(struct stk_gpu *gpu, int result, const char *what, struct stk_gpu_why *why);
/* stk_gpu_break() notes a failure of work under way, after which the device can only be closed. It
 * waits until nothing runs. */
int stk_gpu_break(struct stk_gpu *gpu, int result, const char *what, struct stk_gpu_why *why);

/* ---- pin.c: locked memory ---- */

/* Returns how many bytes from `from` on, at most `bytes`, one copy may take without crossing the
 * border of a chunk. */
size_t stk_gpu_pin_reach(const struct stk_gpu *gpu, const unsigned char *from, size_t bytes);
/* Unlocks all memory. */
void stk_gpu_pin_unlock(struct stk_gpu *gpu);

/* ---- batch_lane.c: a batch on its way ---- */

/* Makes a lane's events; frees all that a lane has. */
int stk_gpu_lane_begin(struct stk_gpu *gpu, struct stk_gpu_lane *lane, struct stk_gpu_why *why);
void stk_gpu_lane_end(struct stk_gpu *gpu, struct stk_gpu_lane *lane);
/* Waits until the lane's batch is copied, and lets go of it. */
int stk_gpu_lane_drain(struct stk_gpu *gpu, struct stk_gpu_lane *lane, struct stk_gpu_why *why);
/* Lets go of the lane's batch if it is copied. Returns 1 if it is not, 0 if it is, or an error. */
int stk_gpu_lane_poll(struct stk_gpu *gpu, struct stk_gpu_lane *lane, struct stk_gpu_why *why);
/* Makes room for so many bytes and images. */
int stk_gpu_lane_grow(struct stk_gpu *gpu, struct stk_gpu_lane *lane, size_t bytes, size_t images,
                      struct stk_gpu_why *why);
