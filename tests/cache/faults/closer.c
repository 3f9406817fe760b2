/*
 * closer DIRECTORY FILES SECONDS LOGS: threads open and read files, and one makes small files of
 * its own below LOGS. Meanwhile the main thread closes every descriptor from 3 on, again and again.
 * The threads' errors in that time are their own fault. But a file that the library is filling must
 * not be mixed up with a file that gets its number. DIRECTORY is made by tests/cache/kills/filler.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define READERS    4
#define LINE       "a line of the log\n"
#define LINE_BYTES (sizeof LINE - 1)

static const char *directory;
static unsigned files;
static _Atomic bool closing = true;
static _Atomic unsigned opens, lines;

static void read_one(unsigned number)
{
    static __thread char buffer[65536];
    char path[4096];
    snprintf(path, sizeof path, "%s/%u/f%04u", directory, number % 4, number);
    int fd = open(path, O_RDONLY);
    while (fd >= 0 && read(fd, buffer, sizeof buffer) > 0) {
    }
    close(fd);
}

static void *read_files(void *seed_of)
{
    unsigned seed = (unsigned)(size_t)seed_of;
    while (atomic_load(&closing)) {
        read_one((unsigned)rand_r(&seed) % files);
        atomic_fetch_add(&opens, 1);
    }
    return NULL;
}

/* Opens for writing, writes and closes, so that it gets every number that is free at some time. */
static void *keep_logs(void *logs)
{
    char path[4096];
    while (atomic_load(&closing)) {
        snprintf(path, sizeof path, "%s/%u", (const char *)logs, atomic_fetch_add(&lines, 1));
        int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0644);
        const struct timespec nap = {0, 50000};
        nanosleep(&nap, NULL);
        if (fd < 0 || pwrite(fd, LINE, LINE_BYTES, 0) != (ssize_t)LINE_BYTES) {
            unlink(path); /* closed in between, or another file's by now */
        }
        close(fd);
    }
    return NULL;
}

static void close_for(double seconds)
{
    struct timespec began, now;
    unsigned seed = 1;
    clock_gettime(CLOCK_MONOTONIC, &began);
    do {
        syscall(SYS_close_range, 3, ~0U, 0);
        usleep((unsigned)rand_r(&seed) % 2000);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - began.tv_sec) + (double)(now.tv_nsec - began.tv_nsec) / 1e9 <
             seconds);
    atomic_store(&closing, false);
}

int main(int argc, char **argv)
{
    pthread_t threads[READERS + 1];
    if (argc != 5) {
        fprintf(stderr, "usage: %s DIRECTORY FILES SECONDS LOGS\n", argv[0]);
        return 2;
    }
    directory = argv[1];
    files = (unsigned)atoi(argv[2]);
    read_one(0); /* what the library needs once, it has before it begins */
    for (size_t i = 0; i < READERS; i++) {
        pthread_create(&threads[i], NULL, read_files, (void *)(i + 1));
    }
    pthread_create(&threads[READERS], NULL, keep_logs, argv[4]);
    close_for(atof(argv[3]));
    for (size_t i = 0; i <= READERS; i++) {
        pthread_join(threads[i], NULL);
    }
    printf("%u opens, %u logs\n", opens, lines);
    return 0;
}
