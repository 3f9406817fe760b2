/*
 * Handlers that open files in the middle of whatever is going on: signals DIR COUNT ROUNDS THREADS.
 * A timer fires every few hundred microseconds and hits any of the threads. These read all the
 * files again and again; the handler reads some as well.
 *
 *   signals DIR COUNT ROUNDS jump    the handler jumps out of what it has interrupted
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "tests/preload/neighbours/files.h"

#define PERIOD_US 300

static const char *dir;
static unsigned count, rounds;
static atomic_uint wrong, handled;
static sigjmp_buf back;
static volatile sig_atomic_t may_jump;

static void in_handler(int signal)
{
    int saved = errno;
    unsigned turn = atomic_fetch_add(&handled, 1);
    (void)signal;
    if (files_check(dir, turn % count, turn % 2 == 0 ? WAY_OPEN : WAY_OPENAT) != 0) {
        atomic_fetch_add(&wrong, 1);
    }
    errno = saved;
}

static void jump_out(int signal)
{
    (void)signal;
    atomic_fetch_add(&handled, 1);
    if (may_jump) {
        may_jump = 0;
        siglongjmp(back, 1);
    }
}

static void *read_all(void *unused)
{
    (void)unused;
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned number = 0; number < count; number++) {
            enum files_way way = (round + number) % WAY_COUNT;
            if (files_check(dir, number, way) != 0) {
                atomic_fetch_add(&wrong, 1);
            }
        }
    }
    return NULL;
}

/* Reads with jumps out of handlers. An interrupted call is not ended in an orderly way: descriptors
 * leak, and that is all. */
static void read_with_jumps(void)
{
    volatile unsigned round = 0, number = 0;
    for (; round < rounds; round = round + 1) {
        for (number = 0; number < count; number = number + 1) {
            if (sigsetjmp(back, 1) == 0) {
                may_jump = 1;
                int result = files_check(dir, number, WAY_OPEN);
                may_jump = 0;
                /* A jump out of the middle leaves its descriptor open, until there are no more. */
                if (result != 0 && result != EMFILE) {
                    atomic_fetch_add(&wrong, 1);
                }
            }
        }
    }
}

static void start_timer(void (*handler)(int), suseconds_t period_us)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct itimerval timer = {{0, period_us}, {0, period_us}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void bombard(unsigned threads)
{
    pthread_t others[16];
    start_timer(in_handler, PERIOD_US);
    for (unsigned i = 0; i < threads; i++) {
        pthread_create(&others[i], NULL, read_all, NULL);
    }
    read_all(NULL);
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(others[i], NULL);
    }
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        return 2;
    }
    dir = argv[1];
    count = (unsigned)atoi(argv[2]);
    rounds = (unsigned)atoi(argv[3]);
    if (strcmp(argv[4], "jump") == 0) {
        start_timer(jump_out, 10 * PERIOD_US);
        read_with_jumps();
    } else {
        bombard((unsigned)atoi(argv[4]));
    }
    start_timer(SIG_IGN, 0);
    printf("wrong %u\n", wrong);
    fprintf(stderr, "handled %u\n", handled);
    return wrong > 0 || handled == 0;
}
