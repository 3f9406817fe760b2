/*
 * Sends batches to a device: one copy from memory that the driver has locked, on a stream of its
 * own, and one kernel that makes numbers of the bytes. gpu/plan.h says which numbers, and computes
 * the same ones on this processor.
 *
 * The copied memory lies in slots (ring/slot.h), which a worker writes again as soon as they are
 * given back. So the caller hands in, with each batch, an object that holds its slot. Each batch on
 * its way has an event; the object is let go of only when the event says that the copy has ended.
 *
 * One thread at a time may use a `struct stk_gpu`; different ones are independent. In a child of
 * fork every call returns STK_GPU_FORKED and leaves the driver alone, since the parent began it.
 * Errors are negative, with a sentence in `why`. After STK_GPU_FAILED all later calls return it
 * too: the device can then only be closed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "gpu/plan.h"
#include "gpu/why.h"

struct stk_gpu;

/* Opens the device of that number by its primary context, as all frameworks do, so other users of
 * the device in this process are not disturbed. Returns STK_GPU_NONE if there is no suitable one.
 */
int stk_gpu_open(struct stk_gpu **out, int ordinal, struct stk_gpu_why *why);

/* Waits for the batches on their way, lets go of all held objects, and frees everything. Memory of
 * the device that the caller took stays the caller's. NULL is fine. */
void stk_gpu_close(struct stk_gpu *gpu);

/* Returns the device's name, as its driver has it. */
const char *stk_gpu_name(const struct stk_gpu *gpu);

/*
 * Makes the driver lock memory of this process in place, so that the device fetches from it at full
 * speed and without this processor. Returns STK_GPU_MEMORY if that is not allowed. Memory that is
 * not locked can be sent as well, but the call then waits for the copy. The memory stays locked,
 * and must stay mapped, until it is unpinned. Unpinning waits for copies that are under way.
 */
int stk_gpu_pin(struct stk_gpu *gpu, void *memory, size_t bytes, struct stk_gpu_why *why);
int stk_gpu_unpin(struct stk_gpu *gpu, void *memory, struct stk_gpu_why *why);

/* Stands for no stream, since 0 is the default stream. */
#define STK_GPU_NO_STREAM ((void *)~(uintptr_t)0)

/* A batch to be sent. After the call only the memory and the holder must stay. */
struct stk_gpu_batch {
    const struct stk_gpu_plan *plan;
    const struct stk_gpu_image *images; /* with addresses of this process, within `memory` */
    size_t count;
    const void *memory; /* NULL: the images lie on the device already, and have its addresses */
    size_t bytes;
    uint64_t out; /* of the device: stk_gpu_plan_bytes() */
    void *stream; /* earlier work on it comes first: it may still use `out` or the images */
    void *holder; /* the object that keeps the memory unchanged */
    void (*let_go)(void *holder); /* called once, by a later call; NULL: nothing to do */
};

/*
 * Begins to send a batch, and numbers it, from 1 upwards. The call waits only if STK_GPU_LANES
 * batches are on their way. After an error nothing reads the memory any more, and the holder is
 * still the caller's.
 */
int stk_gpu_send(struct stk_gpu *gpu, const struct stk_gpu_batch *batch, uint64_t *number,
                 struct stk_gpu_why *why);

/* Batches that may be on their way before a call waits. */
#define STK_GPU_LANES 4

/* Lets go of the holders of copied batches. Returns how many are still held, or an error. */
int stk_gpu_collect(struct stk_gpu *gpu, struct stk_gpu_why *why);

/* Makes later work on the stream wait until the batch is finished. The consumer of `out` calls this
 * first, before that memory can be given to another consumer. */
int stk_gpu_follow(struct stk_gpu *gpu, uint64_t number, void *stream, struct stk_gpu_why *why);

/* Waits on this processor until the batch is finished. */
int stk_gpu_wait(struct stk_gpu *gpu, uint64_t number, struct stk_gpu_why *why);
