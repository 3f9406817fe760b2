/* Faults on purpose, each by a word of the control file. The header has the list. */
#include "faults.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "control.h"

#define DESCRIPTORS 65536 /* of which it is known when they were opened */
#define TICK_NS     10000000

static _Atomic uint64_t *word(enum slow_fault which)
{
    return slow_control_word(SLOW_FIRST_FAULT + (unsigned)which);
}

static uint64_t value(enum slow_fault which)
{
    return atomic_load_explicit(word(which), memory_order_relaxed);
}

static bool is_spared(void)
{
    uint64_t left = value(SLOW_FAULT_SPARED);
    while (left > 0) {
        if (atomic_compare_exchange_weak(word(SLOW_FAULT_SPARED), &left, left - 1)) {
            return true;
        }
    }
    return false;
}

int slow_fault(enum slow_fault which)
{
    int error = (int)value(which);
    return error != 0 && !is_spared() ? error : 0;
}

int slow_fault_read(size_t *size, off_t offset)
{
    size_t most = (size_t)value(SLOW_FAULT_READ_MOST);
    if ((uint64_t)offset + *size > value(SLOW_FAULT_READ_FROM)) {
        int error = slow_fault(SLOW_FAULT_READ);
        if (error != 0) {
            return error;
        }
    }
    *size = most != 0 && most < *size ? most : *size;
    return 0;
}

uint64_t slow_fault_value(enum slow_fault which)
{
    return value(which);
}

/* ---- what has gone stale ---- */

static _Atomic uint64_t opened_ns[DESCRIPTORS];

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void slow_fault_opened(int fd)
{
    if (fd >= 0 && fd < DESCRIPTORS) {
        atomic_store(&opened_ns[fd], now_ns());
    }
}

int slow_fault_stale(int fd)
{
    uint64_t limit = value(SLOW_FAULT_STALE_NS);
    bool stale = limit != 0 && fd >= 0 && fd < DESCRIPTORS &&
                 now_ns() - atomic_load(&opened_ns[fd]) >= limit;
    return stale ? ESTALE : 0;
}

/* ---- hanging ---- */

void slow_fault_hang(void)
{
    const struct timespec tick = {.tv_nsec = TICK_NS};
    uint64_t began = now_ns();
    while (now_ns() - began < value(SLOW_FAULT_HANG_NS)) {
        nanosleep(&tick, NULL);
    }
}

/* ---- attributes ---- */

static void cut_times(struct stat *attr)
{
    attr->st_atim.tv_nsec = 0;
    attr->st_mtim.tv_nsec = 0;
    attr->st_ctim.tv_nsec = 0;
}

void slow_fault_attr(struct stat *attr)
{
    if (value(SLOW_FAULT_WHOLE_SECONDS) != 0) {
        cut_times(attr);
    }
    if (S_ISREG(attr->st_mode)) {
        attr->st_size += (off_t)value(SLOW_FAULT_SIZE);
    }
}
