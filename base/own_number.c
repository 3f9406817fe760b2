#include "base/own_number.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/sys.h"

#define WORD_BITS 64
#define WORDS     16
#define TRIES     256 /* more than threads that fill at a time */

/* A bit for each number, of which those that are 1,024 apart share one: a number may be passed over
 * without need. */
static _Atomic uint64_t held[WORDS];

static _Atomic uint64_t *word_of(int number)
{
    return &held[(unsigned)number / WORD_BITS % WORDS];
}

static uint64_t bit_of(int number)
{
    return (uint64_t)1 << (unsigned)number % WORD_BITS;
}

static bool hold(int number)
{
    return (atomic_fetch_or(word_of(number), bit_of(number)) & bit_of(number)) == 0;
}

/* A number that was closed under its owner is free for the kernel, and still the owner's here. */
int stk_own_number_take(int fd)
{
    int number = stk_sys_dup_high(fd);
    for (int i = 0; number >= 0 && !hold(number); i++) {
        int higher = i < TRIES ? stk_sys_dup_above(fd, number + 1) : -EMFILE;
        stk_sys_close(number);
        number = higher;
    }
    return number;
}

void stk_own_number_release(int number)
{
    atomic_fetch_and(word_of(number), ~bit_of(number));
}
