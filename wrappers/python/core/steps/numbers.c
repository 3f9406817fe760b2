#include "wrappers/python/core/steps/numbers.h"

#define AHEAD 397

bool numbers_are_sound(const struct numbers *numbers)
{
    uint64_t left = (uint64_t)numbers->left;
    return left == 1 || (left - 1 < NUMBERS_WORDS && numbers->next + left == NUMBERS_WORDS + 1);
}

static uint64_t turned(uint64_t upper, uint64_t lower)
{
    uint64_t mixed = (upper & 0x80000000) | (lower & 0x7fffffff);
    return mixed >> 1 ^ (lower & 1 ? 0x9908b0df : 0);
}

static void make_more(struct numbers *numbers)
{
    uint64_t *words = numbers->words;
    for (unsigned i = 0; i < NUMBERS_WORDS; i++) {
        unsigned next = i + 1 < NUMBERS_WORDS ? i + 1 : 0;
        unsigned ahead = i + AHEAD < NUMBERS_WORDS ? i + AHEAD : i + AHEAD - NUMBERS_WORDS;
        words[i] = words[ahead] ^ turned(words[i], words[next]);
    }
    numbers->left = NUMBERS_WORDS;
    numbers->next = 0;
}

uint32_t numbers_draw(struct numbers *numbers)
{
    if (--numbers->left == 0) {
        make_more(numbers);
    }
    uint32_t word = (uint32_t)numbers->words[numbers->next++];
    word ^= word >> 11;
    word ^= word << 7 & 0x9d2c5680;
    word ^= word << 15 & 0xefc60000;
    return word ^ word >> 18;
}

uint32_t numbers_below(struct numbers *numbers, uint32_t limit)
{
    return numbers_draw(numbers) % limit;
}

double numbers_share(struct numbers *numbers)
{
    return (numbers_draw(numbers) & 0xffffff) * 0x1p-24;
}
