/*
 * Jumps out of opens by a signal handler, at many moments: JUMPER HIT OPENS FILE...
 *
 * Opens each FILE, and jumps out of each open a little later than out of the one before. After each
 * jump opens HIT OPENS times, with a deeper and deeper stack.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile sig_atomic_t armed, jumps;

static void leave(int number)
{
    (void)number;
    if (armed) {
        armed = 0;
        jumps++;
        siglongjmp(back, 1);
    }
}

static void open_until(const char *path, long after_us)
{
    const struct itimerval timer = {.it_value = {0, after_us}}, off = {{0, 0}, {0, 0}};
    if (sigsetjmp(back, 1) == 0) {
        armed = 1;
        setitimer(ITIMER_REAL, &timer, NULL);
        open(path, O_RDONLY);
    }
    armed = 0;
    setitimer(ITIMER_REAL, &off, NULL);
}

static __attribute__((noinline)) void open_hit(const char *path, int depth)
{
    volatile char room[2000];
    memset((char *)room, depth, sizeof room);
    if (depth > 0) {
        open_hit(path, depth - 1);
        room[0] = 0;
        return;
    }
    close(open(path, O_RDONLY));
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = leave};
    static char other_stack[1 << 16];
    const stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
    if (argc > 3 && getenv("ON_ANOTHER_STACK") != NULL) {
        action.sa_flags = SA_ONSTACK;
        sigaltstack(&stack, NULL);
    }
    sigaction(SIGALRM, &action, NULL);
    int opens = argc > 2 ? atoi(argv[2]) : 0;
    for (int i = 3; i < argc; i++) {
        open_until(argv[i], 500L + 700L * (i - 3));
        for (int n = 0; n < opens; n++) {
            open_hit(argv[1], n);
        }
    }
    printf("%d\n", (int)jumps);
    return 0;
}
