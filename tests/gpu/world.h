/*
 * A driver for tests: a libcuda.so.1 with the calls that gpu/ makes (gpu/calls.def). Its world sets
 * how it behaves, and shows what became of it.
 *
 * A stream is a thread. It does its work in order, each operation a while later than it could be.
 * Two streams wait for each other only by events. If the host's memory is locked, a copy reads it
 * when it is done, not when it is begun. Else it reads at once, as CUDA may. A kernel is walked on
 * this processor. Memory of the device is memory of this process. If memory is touched after it was
 * given back, or is not there at all, that is counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct cuda_world {
    /* How it behaves: to be set by tests. */
    int version, devices, capability;  /* 13000; 1; 90 */
    size_t device_bytes, locked_bytes; /* that there are; that may be locked */
    unsigned late_us;                  /* at most: how much later something is done */
    unsigned copy_mb_s;                /* how fast copies are, in MB/s; 0: as fast as they can be */
    bool takes_ptx_only;
    long fail_at;  /* the number of the call that fails, from 1 upwards; 0: none */
    int fail_with; /* its result */
    bool for_good; /* so do all later ones, and nothing that was begun is done any more */

    /* The outcome. */
    long calls;
    const char *failed;   /* the call that failed first */
    int retained, pushed; /* of the context; of this thread's and all others' stacks */
    int modules, streams, events, memories, locks; /* that are there now */
    size_t device_used, locked_used;
    long lost;            /* of these, what the context's end took along */
    long wild;            /* accesses to what was not there */
    long copies, kernels; /* that were done */
};

typedef struct cuda_world *cuda_world_get(void);
struct cuda_world *cuda_world(void);

/* Counts a call of a library that stands for another one over this driver. The call fails when it
 * is its turn, or where no context is current: that is its result. */
int cuda_world_call(const char *name);
/* Returns true if there is so much memory of the device. It is for a function that cuLaunchHostFunc
 * runs. */
bool cuda_world_has(const void *at, size_t bytes);
int cuLaunchHostFunc(void *stream, void (*function)(void *), void *argument);
