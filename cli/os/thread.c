#include "cli/os/thread.h"

#include <signal.h>
#include <time.h>

#include "base/clock.h"

/* A fill needs up to 24 KB. The rest is for names and for sanitizers. */
#define STACK_BYTES (1u << 20)

#define PAUSE_PART     4
#define LEAST_PAUSE_NS (STK_NS_PER_S / 10000)
#define MOST_PAUSE_NS  (STK_NS_PER_S / 100)

static void block_signals(sigset_t *before)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigset_t others;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        sigdelset(&others, own[i]);
    }
    pthread_sigmask(SIG_SETMASK, &others, before);
}

bool thread_start(pthread_t *thread, void *(*work)(void *), void *context)
{
    pthread_attr_t small;
    sigset_t before;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    block_signals(&before);
    bool started = pthread_create(thread, &small, work, context) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&small);
    return started;
}

bool thread_start_detached(void *(*work)(void *), void *context)
{
    pthread_t thread;
    return thread_start(&thread, work, context) && pthread_detach(thread) == 0;
}

void thread_pause_since(int64_t began_ns)
{
    int64_t part_ns = (stk_clock_boottime_ns() - began_ns) / PAUSE_PART;
    int64_t pause_ns = part_ns < LEAST_PAUSE_NS  ? LEAST_PAUSE_NS
                       : part_ns < MOST_PAUSE_NS ? part_ns
                                                 : MOST_PAUSE_NS;
    nanosleep(&(struct timespec){0, pause_ns}, NULL);
}
