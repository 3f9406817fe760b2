/* Calls that come in the middle of others: from signal handlers, from many threads at once, from a
 * child of vfork. Changes nothing. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "tests/preload/symbols/shared/frame.h"
#include "tests/preload/symbols/shared/paths.h"
#include "tests/preload/symbols/shared/pool.h"
#include "tests/preload/symbols/shared/show.h"

#define FILES      140
#define THREADS    8
#define BETWEEN_US 20  /* from the end of a handler to the next alarm */
#define SLOW_S     1.9 /* less than a thread's patience with another thread's fill */

static char paths[FILES][4096];
static _Atomic(const char *) path_now; /* a signal may come late, and in another thread */
static atomic_uint wrong, slow;
static atomic_uint handlers; /* that run now, in whatever thread */
static atomic_bool over;     /* a handler that comes later does nothing */

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Seconds in which this thread has been ready to run, and others ran: a busy machine's. */
static double starved(void)
{
    char text[128] = "";
    unsigned long long ran, waited = 0;
    int fd = open("/proc/thread-self/schedstat", O_RDONLY);
    if (fd >= 0) {
        ssize_t got = read(fd, text, sizeof text - 1);
        sscanf(got > 0 ? text : "", "%llu %llu", &ran, &waited);
        close(fd);
    }
    return (double)waited / 1e9;
}

/* Returns true if a call that began then has waited for another thread. */
static int is_slow(double begun)
{
    double took = seconds() - begun;
    return took > SLOW_S && took - starved() > SLOW_S;
}

/* Returns true if the file has the size that its number says, by stat, by fstat and by reading. */
static int is_right(const char *path, off_t size)
{
    char buffer[16384];
    struct stat by_path, by_fd;
    int fd = open(path, O_RDONLY);
    if (fd < 0) {
        return 0;
    }
    ssize_t got = read(fd, buffer, sizeof buffer);
    int right = got == size && fstat(fd, &by_fd) == 0 && by_fd.st_size == size &&
                stat(path, &by_path) == 0 && by_path.st_ino == by_fd.st_ino;
    close(fd);
    return right;
}

static void check(const char *path, off_t size)
{
    double begun = seconds();
    wrong += !is_right(path, size);
    slow += is_slow(begun);
}

/* Looks at the file that is being opened, whose name holds its number of bytes. */
static void look_in_handler(const char *path)
{
    struct stat stat_;
    double begun = seconds();
    int fd = open(path, O_RDONLY);
    if (fd >= 0) {
        wrong += fstat(fd, &stat_) != 0 || stat_.st_size < 3000;
        close(fd);
    }
    wrong += access(path, R_OK) != 0;
    slow += is_slow(begun);
}

/* Sets one alarm, or none. Each handler sets the next at its end: where a handler takes longer than
 * the time between two alarms of a fixed rate, the call that it interrupts hardly goes on. */
static void set_alarm(suseconds_t us)
{
    const struct itimerval once = {{0, 0}, {0, us}};
    setitimer(ITIMER_REAL, &once, NULL);
}

static void on_alarm(int signal)
{
    int saved = errno;
    (void)signal;
    handlers++;
    if (!over) {
        look_in_handler(path_now);
        set_alarm(BETWEEN_US);
    }
    handlers--;
    errno = saved;
}

static void in_signal_handlers(void)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    for (unsigned i = 0; i < FILES; i++) {
        snprintf(paths[i], sizeof paths[i], "%s", pool_path("pool", i));
        path_now = paths[i];
        sigaction(SIGALRM, &action, NULL);
        set_alarm(BETWEEN_US);
        check(paths[i], 3000 + (off_t)i);
        set_alarm(0);
    }
    over = true;
    while (handlers > 0) {
        sched_yield(); /* or a descriptor of theirs would shift ours */
    }
    printf("signals: wrong %u slow %u\n", wrong, slow);
}

static void *in_thread(void *base)
{
    char path[4096];
    for (unsigned i = 0; i < 60; i++) {
        snprintf(path, sizeof path, "%s/%u", (const char *)base, i);
        check(path, 9000 + (off_t)i);
    }
    return NULL;
}

/* First of all, so that they set up together. */
static void in_threads(void)
{
    pthread_t threads[THREADS];
    char base[4096];
    snprintf(base, sizeof base, "%s", absolute_path("own"));
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, in_thread, base);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    printf("threads: wrong %u slow %u\n", wrong, slow);
}

/* Shares our memory, its working directory is its own. */
static void in_vfork(void)
{
    int status = -1;
    const char *path = absolute_path("sub/b.bin");
    pid_t child = vfork();
    if (child == 0) {
        int bad = open(path, O_RDONLY) < 0;
        bad |= chdir("sub") != 0 || open("b.bin", O_RDONLY) < 0 || open("a.bin", O_RDONLY) >= 0;
        _exit(bad);
    }
    SHOW("vfork", waitpid(child, &status, 0) == child ? status : -1);
    show_path("sub/b.bin");
    SHOW("no sub/a.bin", open("sub/a.bin", O_RDONLY));
}

/* A child forked while others are busy goes on by itself. */
static void in_fork(void)
{
    pthread_t thread;
    char base[4096];
    int status = -1, sum = 0;
    snprintf(base, sizeof base, "%s", absolute_path("own"));
    pthread_create(&thread, NULL, in_thread, base);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            _exit(!is_right("sub/deep/c.bin", 4096));
        }
        sum += waitpid(child, &status, 0) == child ? status : 1;
    }
    pthread_join(thread, NULL);
    SHOW("fork", sum);
}

#ifdef __SANITIZE_THREAD__ /* which knows nothing of C11's threads */
static void in_c11_thread(const char *base)
{
    (void)base;
}
#else
static int run_in_c11_thread(void *base)
{
    return in_thread(base) != NULL;
}

static void in_c11_thread(char *base)
{
    int (*c11)(thrd_t *, thrd_start_t, void *) =
        (int (*)(thrd_t *, thrd_start_t, void *))symbol("thrd_create");
    thrd_t thread;
    int result = -1;
    SHOW("thrd_create", c11(&thread, run_in_c11_thread, base));
    SHOW("join", thrd_join(thread, &result));
    SHOW("result", result);
}
#endif

static void in_other_threads(void)
{
    int (*posix)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = (int (*)(
        pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))symbol("pthread_create");
    pthread_t thread;
    char base[4096];
    snprintf(base, sizeof base, "%s", absolute_path("own"));
    SHOW("pthread_create", posix(&thread, NULL, in_thread, base));
    SHOW("join", pthread_join(thread, NULL));
    in_c11_thread(base);
    printf("other threads: wrong %u slow %u\n", wrong, slow);
}

/* Nothing is left in stdout's buffer for a child to print again, as the thread sanitizer's _exit
 * would. */
void body(void)
{
    in_threads();
    in_other_threads();
    in_signal_handlers();
    fflush(stdout);
    in_vfork();
    fflush(stdout);
    in_fork();
    printf("wrong %u slow %u\n", wrong, slow);
}
