/*
 * The random numbers of torch's generator, a Mersenne Twister (MT19937), drawn from its state in
 * place. The state is that of torch.Generator.get_state(). Knows nothing of Python.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define NUMBERS_WORDS 624

/* The beginning of the state. The rest is for draws that are not made here. */
struct numbers {
    uint64_t seed;
    int32_t left; /* 625 - next, except in a new state */
    int32_t seeded;
    uint64_t next;
    uint64_t words[NUMBERS_WORDS]; /* of 32 bits */
};

/* Returns true if numbers can be drawn from the state. */
bool numbers_are_sound(const struct numbers *numbers);
/* Draws 32 bits. */
uint32_t numbers_draw(struct numbers *numbers);
/* Draws a number from 0 to limit - 1, as tensor.random_(limit) does. The limit is below 2^28. */
uint32_t numbers_below(struct numbers *numbers, uint32_t limit);
/* Draws a number from 0 up to 1, in steps of 2^-24. uniform_() makes its numbers of these. */
double numbers_share(struct numbers *numbers);
