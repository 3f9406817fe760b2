/* What goes wrong on purpose. See faults.h. */
#include "faults.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "control.h"

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

void slow_fault_attr(struct stat *attr)
{
    if (S_ISREG(attr->st_mode)) {
        attr->st_size += (off_t)value(SLOW_FAULT_SIZE);
    }
}
