/* Runs a body in one of the frames. */
#include "tests/preload/symbols/shared/frame.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/preload/symbols/shared/show.h"

/* A run begins at the clock tick after its first process: what is known before is asked again. */
#define TICKS_NS 15000000

static int run_body(const char *base)
{
    const struct timespec nap = {0, TICKS_NS};
    if (chdir(base) != 0 || chdir("data") != 0) {
        perror(base);
        return 1;
    }
    umask(022);
    nanosleep(&nap, NULL);
    show_begin(base);
    body();
    show_end();
    return fflush(stdout) == 0 ? 0 : 1;
}

static void *in_thread(void *base)
{
    return run_body(base) == 0 ? base : NULL;
}

static int run_thread(char *base)
{
    pthread_t thread;
    void *result = NULL;
    if (pthread_create(&thread, NULL, in_thread, base) != 0 || pthread_join(thread, &result) != 0) {
        return 1;
    }
    return result != NULL ? 0 : 1;
}

static int run_child(const char *base)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        _exit(run_body(base));
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

int frame_main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s main|constructor|fork|thread BASE\n", argv[0]);
        return 2;
    }
    if (strcmp(argv[1], "fork") == 0) {
        return run_child(argv[2]);
    }
    if (strcmp(argv[1], "thread") == 0) {
        return run_thread(argv[2]);
    }
    return strcmp(argv[1], "main") == 0 ? run_body(argv[2]) : 1;
}

/* Runs before main. It is in a library that the program is linked with, so it also runs before the
 * constructors of later libraries. */
__attribute__((constructor)) static void in_constructor(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "constructor") == 0) {
        exit(run_body(argv[2]));
    }
}
