/* What the parts of gpu/ share: an open device. See gpu/gpu.h. */
#ifndef STK_GPU_PARTS_H
#define STK_GPU_PARTS_H

#include <stdbool.h>
#include <sys/types.h>

#include "gpu/driver.h"
#include "gpu/gpu.h"

/* So much of the host's memory is locked by one call: of 512 GiB and more at once drivers from 580
 * on have failed. A copy must not cross from one to the next. */
#define STK_GPU_CHUNK_BYTES ((size_t)1 << 30)

#define STK_CUDA_EVENT_PLAIN 2U /* it tells no time, which makes it quick */

enum { STK_GPU_TYPES = 3, STK_GPU_LAYOUTS = 2 };

/* Memory that was locked. */
struct stk_gpu_pin {
    unsigned char *memory;
    size_t bytes;
    struct stk_gpu_pin *next;
};

/* What a batch needs on its way. It is used again by the one so many numbers later. */
struct stk_gpu_lane {
    uint64_t number; /* of the batch that has it now or had it last; 0: none yet */
    bool is_held;    /* the holder is not let go of */
    void (*let_go)(void *holder);
    void *holder;
    uint64_t bytes_at, images_at; /* on the device: the images, and what is wanted of each */
    size_t bytes, images;         /* how many of each there is room for */
    struct stk_gpu_image *told;   /* here: locked, the device fetches them from it */
    void *left, *out;             /* events: it is copied; it is made */
};

struct stk_gpu {
    const struct stk_gpu_driver *driver;
    pid_t owner;
    int device;
    char name[128];
    void *context, *module;
    void *functions[STK_GPU_TYPES][STK_GPU_LAYOUTS][2]; /* of one channel, and of three */
    void *copies, *work;                                /* streams */
    void *before; /* event: what a caller's stream had begun */
    struct stk_gpu_pin *pins;
    size_t chunk_bytes;
    uint64_t sent; /* the last batch's number */
    struct stk_gpu_lane lanes[STK_GPU_LANES];
    struct stk_gpu_why broken; /* STK_GPU_OK: it is not */
};

/* Every call begins and ends with these. The first may refuse; then the other one is not called.
 * The second gives the call's result. */
int stk_gpu_enter(struct stk_gpu *gpu, struct stk_gpu_why *why);
int stk_gpu_leave(struct stk_gpu *gpu, int result);

/* Calls give(what) inside the device's context, whatever has failed; in a child of fork not at all.
 */
void stk_gpu_give_back(struct stk_gpu *gpu, void (*give)(void *), void *what);

/* Says why a driver's call failed. */
int stk_gpu_refused(struct stk_gpu *gpu, int result, const char *what, struct stk_gpu_why *why);
/* The same for what was under way: it is of no more use. Waits until nothing runs. */
int stk_gpu_break(struct stk_gpu *gpu, int result, const char *what, struct stk_gpu_why *why);

/* Where memory that begins there may be copied to without crossing a border, at most `bytes`. */
size_t stk_gpu_pin_reach(const struct stk_gpu *gpu, const unsigned char *from, size_t bytes);
void stk_gpu_pin_end(struct stk_gpu *gpu);

/* Makes a lane's events, and gives back all that one has. */
int stk_gpu_lane_begin(struct stk_gpu *gpu, struct stk_gpu_lane *lane, struct stk_gpu_why *why);
void stk_gpu_lane_end(struct stk_gpu *gpu, struct stk_gpu_lane *lane);
/* Waits until the lane's batch is copied, and lets go of it. */
int stk_gpu_lane_drain(struct stk_gpu *gpu, struct stk_gpu_lane *lane, struct stk_gpu_why *why);
/* Lets go of it if it is copied: whether it is not (1), or an error. */
int stk_gpu_lane_poll(struct stk_gpu *gpu, struct stk_gpu_lane *lane, struct stk_gpu_why *why);
/* Room for so many bytes and images. */
int stk_gpu_lane_grow(struct stk_gpu *gpu, struct stk_gpu_lane *lane, size_t bytes, size_t images,
                      struct stk_gpu_why *why);

#endif
