/*
 * Vectors of LANES numbers, and functions for the target of LOOP: what operation_loops.h is written
 * in. The file that includes it defines both.
 */
#pragma once

#include <stdint.h>

#define INNER LOOP __attribute__((always_inline)) inline

typedef int32_t ints __attribute__((vector_size(4 * LANES)));
typedef float floats __attribute__((vector_size(4 * LANES)));

INNER floats floats_of(ints values)
{
    return __builtin_convertvector(values, floats);
}

/* Rounds to zero. */
INNER ints ints_of(floats values)
{
    return __builtin_convertvector(values, ints);
}
