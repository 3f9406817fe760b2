/* The control file of slowfs. See control.h. */
#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "faults.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the control file is little-endian, and so must this machine be"
#endif

enum { WORD_MAGIC, WORD_VERSION, WORD_LATENCY };

static _Atomic uint64_t *words;

/* A fresh file each time: a reader of an older one keeps its own, unchanged. */
static int map_file(const char *path)
{
    if (unlink(path) != 0 && errno != ENOENT) {
        return -errno;
    }
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        return -errno;
    }
    int result = 0;
    if (ftruncate(fd, SLOW_CONTROL_BYTES) != 0) {
        result = -errno;
    } else {
        words = mmap(NULL, SLOW_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        result = words == MAP_FAILED ? -errno : 0;
    }
    close(fd);
    return result;
}

static int map_private(void)
{
    words =
        mmap(NULL, SLOW_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return words == MAP_FAILED ? -errno : 0;
}

int slow_control_open(const char *path, uint64_t latency_ns)
{
    int result = path != NULL ? map_file(path) : map_private();
    if (result == 0) {
        words[WORD_VERSION] = SLOW_VERSION;
        words[WORD_LATENCY] = latency_ns;
        /* Last: a reader that sees the magic sees the rest. */
        words[WORD_MAGIC] = SLOW_MAGIC;
    }
    return result;
}

const char *slow_control_name(enum slow_counter counter)
{
#define SLOW_NAME(name) #name,
    static const char *const names[] = {SLOW_COUNTERS(SLOW_NAME)};
#undef SLOW_NAME
    return names[counter];
}

_Atomic uint64_t *slow_control_word(unsigned number)
{
    return &words[number];
}

void slow_count_add(enum slow_counter counter, uint64_t amount)
{
    atomic_fetch_add_explicit(&words[SLOW_FIRST_COUNTER + (int)counter], amount,
                              memory_order_relaxed);
}

void slow_count(enum slow_counter counter)
{
    slow_count_add(counter, 1);
}

void slow_delay(void)
{
    slow_fault_hang();
    uint64_t ns = atomic_load_explicit(&words[WORD_LATENCY], memory_order_relaxed);
    if (ns == 0) {
        return;
    }
    struct timespec left = {.tv_sec = (time_t)(ns / 1000000000),
                            .tv_nsec = (long)(ns % 1000000000)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

/* ---- bandwidth ---- */

static uint64_t bytes_per_s;
static _Atomic uint64_t free_ns; /* when the line has let through what it was given */

void slow_set_bandwidth(uint64_t limit)
{
    bytes_per_s = limit;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* When it will be through. */
static uint64_t queue(uint64_t bytes)
{
    uint64_t cost = bytes * 1000000000 / bytes_per_s, now = now_ns();
    uint64_t before = atomic_load(&free_ns), after;
    do {
        after = (before > now ? before : now) + cost;
    } while (!atomic_compare_exchange_weak(&free_ns, &before, after));
    return after;
}

void slow_pass(uint64_t bytes)
{
    if (bytes_per_s == 0) {
        return;
    }
    uint64_t until = queue(bytes);
    struct timespec time = {.tv_sec = (time_t)(until / 1000000000),
                            .tv_nsec = (long)(until % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR) {
    }
}

void slow_begin(enum slow_counter counter)
{
    slow_count(counter);
    slow_delay();
}
