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

static bool alone;

void stk_own_number_begin_alone(void)
{
    alone = true;
}

bool stk_own_number_is_alone(void)
{
    return alone;
}

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

static bool is_free(int number)
{
    return stk_sys_get_status_flags(number) == -EBADF;
}

/* Duplicates to a held number. Returns it, -EAGAIN if another file has got it since, or -errno. */
static int duplicate(int fd, int number)
{
    int got = stk_sys_dup_above(fd, number);
    if (got == number) {
        return number;
    }
    stk_own_number_release(number);
    if (got >= 0) {
        stk_sys_close(got);
    }
    return got >= 0 ? -EAGAIN : got;
}

/* A number that was closed under its owner is free for the kernel, and still the owner's here. The
 * owner may be about to write to it, so the file must not have that number for a moment. */
int stk_own_number_take(int fd)
{
    if (alone) {
        return -EALREADY;
    }
    int result = -EAGAIN, number = stk_sys_high_number();
    for (int i = 0; i < TRIES && result == -EAGAIN; i++, number++) {
        result = is_free(number) && hold(number) ? duplicate(fd, number) : -EAGAIN;
    }
    return result == -EAGAIN ? -EMFILE : result;
}

void stk_own_number_release(int number)
{
    atomic_fetch_and(word_of(number), ~bit_of(number));
}
