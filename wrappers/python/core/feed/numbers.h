/*
 * The random numbers of torch's generator, drawn where its state lies: a Mersenne Twister
 * (MT19937), as torch.Generator.get_state() gives it. Nothing of Python is known here.
 */
#ifndef STK_PYTHON_FEED_NUMBERS_H
#define STK_PYTHON_FEED_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

#define NUMBERS_WORDS 624

/* What the state begins with; what follows is of other draws. */
struct numbers {
    uint64_t seed;
    int32_t left; /* 625 - next, but for a new one */
    int32_t seeded;
    uint64_t next;
    uint64_t words[NUMBERS_WORDS]; /* of 32 bits */
};

/* Whether it is one that can be drawn from. */
bool numbers_are_sound(const struct numbers *numbers);
/* The next 32 bits. */
uint32_t numbers_draw(struct numbers *numbers);
/* From 0 to limit - 1, as tensor.random_(limit); the limit is below 2^28. */
uint32_t numbers_below(struct numbers *numbers, uint32_t limit);
/* From 0 up to 1, in steps of 2^-24: what uniform_() makes its numbers of. */
double numbers_share(struct numbers *numbers);

#endif
