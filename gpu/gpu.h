/*
 * Batches to a device: one copy from memory that the driver has locked, on a stream of its own, and
 * one kernel that makes numbers of the bytes (gpu/plan.h says which, and does the same on this
 * processor).
 *
 * What is copied lies in slots (ring/slot.h), which somebody else writes again as soon as they are
 * given back. So whoever sends a batch hands in what keeps its slot, and that is let go of only
 * when the copy has ended: by an event for each batch that is on its way.
 *
 * One thread at a time may use a `struct stk_gpu`, whichever; different ones are independent. In a
 * child of fork every call says STK_GPU_FORKED and leaves the driver alone, which its parent has
 * begun. Errors are negative, with a sentence in `why`. Where one is STK_GPU_FAILED, all later
 * calls say the same: it is of no more use, and there to be closed.
 */
#ifndef STK_GPU_GPU_H
#define STK_GPU_GPU_H

#include <stddef.h>
#include <stdint.h>

#include "gpu/plan.h"
#include "gpu/why.h"

struct stk_gpu;

/* The device of that number, beside whatever else uses it in this process: by its primary context,
 * as all frameworks do. STK_GPU_NONE where there is none that would do. */
int stk_gpu_open(struct stk_gpu **out, int ordinal, struct stk_gpu_why *why);

/* Waits for what is on its way, lets go of all that is held, and gives everything back. The
 * caller's memory on the device is the caller's. NULL is nothing. */
void stk_gpu_close(struct stk_gpu *gpu);

/* The device, as its driver calls it. */
const char *stk_gpu_name(const struct stk_gpu *gpu);

/*
 * Has the driver lock memory of this process where it lies, so that the device fetches from it at
 * full speed and without this processor; STK_GPU_MEMORY where that is not allowed. Memory that is
 * not locked is sent as well, but the call then waits for it. It stays locked, and must stay
 * mapped, until it is unpinned: that waits for what still is copied.
 */
int stk_gpu_pin(struct stk_gpu *gpu, void *memory, size_t bytes, struct stk_gpu_why *why);
int stk_gpu_unpin(struct stk_gpu *gpu, void *memory, struct stk_gpu_why *why);

/* No stream: 0 is one, the default. */
#define STK_GPU_NO_STREAM ((void *)~(uintptr_t)0)

/* A batch as it is sent. All of it but the memory and what is held may go after the call. */
struct stk_gpu_batch {
    const struct stk_gpu_plan *plan;
    const struct stk_gpu_image *images; /* with addresses of this process, in `memory` */
    size_t count;
    const void *memory; /* NULL: the images have addresses of the device, and lie there already */
    size_t bytes;
    uint64_t out; /* of the device: stk_gpu_plan_bytes() */
    void *stream; /* what was begun on it before comes first: who has had `out` or the images */
    void *holder; /* what keeps the memory as it is */
    void (*let_go)(void *holder); /* called once, by one of the calls below; NULL: nothing to do */
};

/*
 * Begins to send it, and gives it a number, from 1 upwards. It waits only where so many are on
 * their way that there is nowhere to put it. On an error nothing looks at the memory any more, and
 * what is held is still the caller's.
 */
int stk_gpu_send(struct stk_gpu *gpu, const struct stk_gpu_batch *batch, uint64_t *number,
                 struct stk_gpu_why *why);

/* How many may be on their way before a call waits. */
#define STK_GPU_LANES 4

/* Lets go of what has been copied. How many are still held, or an error. */
int stk_gpu_collect(struct stk_gpu *gpu, struct stk_gpu_why *why);

/* Has what is begun on the stream from now on wait until the batch is out. Whoever takes `out`
 * calls this first, and before its memory can go to anybody else. */
int stk_gpu_follow(struct stk_gpu *gpu, uint64_t number, void *stream, struct stk_gpu_why *why);

/* Waits here until the batch is out. */
int stk_gpu_wait(struct stk_gpu *gpu, uint64_t number, struct stk_gpu_why *why);

/* Memory of the device, for who has none; aligned to 256 bytes. */
int stk_gpu_take(struct stk_gpu *gpu, size_t bytes, uint64_t *address, struct stk_gpu_why *why);
int stk_gpu_give(struct stk_gpu *gpu, uint64_t address, struct stk_gpu_why *why);
/* Copies from there to here, and waits for it. */
int stk_gpu_fetch(struct stk_gpu *gpu, void *to, uint64_t from, size_t bytes,
                  struct stk_gpu_why *why);

#endif
