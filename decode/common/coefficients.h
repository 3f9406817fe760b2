/*
 * The coefficients of a scan, without their zeros: the one representation between their producer
 * (the parser) and their consumer (the player).
 *
 * Blocks come in the order of the scan: MCU by MCU, component by component, from above to below
 * and from left to right in each. For each block there is a mask: bit i says that the coefficient
 * at zigzag position i is not zero. Position 0 is the difference of DC as it was coded: to the
 * previous block of its component, or to 0 in the first MCU and in the first one of each restart
 * interval. The values of a block stand one behind the other, by position, as signed bytes. A value
 * beyond +-127 is a wide value: its byte may hold anything, and the list of wide values has it.
 *
 * The blocks lie in a few runs, each contiguous in memory.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define STK_BLOCK_SIZE 64
/* libjpeg's own limits. */
#define STK_MCU_BLOCKS      10
#define STK_SCAN_COMPONENTS 4
/* So many bytes behind the last value may be read. */
#define STK_VALUE_SLACK 72

#define STK_MOST_RUNS 64

/* A value that does not fit in a byte. In a run the last one is followed by one at STK_WIDE_END. */
struct stk_wide {
    uint32_t at; /* in `values` of the scan */
    int32_t value;
};
#define STK_WIDE_END UINT32_MAX

struct stk_coefficient_run {
    const uint64_t *masks;
    uint32_t blocks;
    uint32_t first_value; /* in `values` of the scan */
    const struct stk_wide *wide;
};

struct stk_coefficients {
    uint32_t blocks;                   /* in all runs */
    uint32_t mcu_blocks;               /* blocks of an MCU */
    uint8_t component[STK_MCU_BLOCKS]; /* of the scan, for each block of an MCU */
    uint32_t interval;                 /* MCUs of a restart interval; 0: there are none */
    uint32_t run_count;
    const int8_t *values;
    struct stk_coefficient_run runs[STK_MOST_RUNS];
};
