/*
 * Threads with little stack: stacks DIR COUNT ROUNDS BYTES. Each of a few threads reads all the
 * files; in DIR/../beside with the least that a thread may have, since they are not covered.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/preload/neighbours/files.h"

#define MARK 0xa5

static const char *dir;
static unsigned count, rounds;

/* The names in a directory, in three ways; false: not as many in each. */
static bool list(const char *path)
{
    int counts[3] = {0, 0, 0};
    struct dirent **names = NULL;
    DIR *by_name = opendir(path), *by_number = fdopendir(open(path, O_RDONLY | O_DIRECTORY));
    while (by_name != NULL && readdir(by_name) != NULL) {
        counts[0]++;
    }
    while (by_number != NULL && readdir(by_number) != NULL) {
        counts[1]++;
    }
    counts[2] = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < counts[2]; i++) {
        free(names[i]);
    }
    free(names);
    bool closed =
        by_name != NULL && closedir(by_name) == 0 && by_number != NULL && closedir(by_number) == 0;
    return closed && counts[0] > 2 && counts[0] == counts[1] && counts[0] == counts[2];
}

static void *read_all(void *unused)
{
    uintptr_t wrong = 0;
    (void)unused;
    for (unsigned i = 0; i < rounds * count; i++) {
        wrong += files_check(dir, i % count, i / count % 2 == 0 ? WAY_OPEN : WAY_OPENAT) != 0;
    }
    wrong += access(dir, R_OK) != 0;
    wrong += !list(dir) || !list(dir);
    return (void *)wrong;
}

/* How much of a stack was used, in bytes: the rest still has its marks. */
static size_t used_of(const unsigned char *stack, size_t bytes)
{
    size_t untouched = 0;
    while (untouched < bytes && stack[untouched] == MARK) {
        untouched++;
    }
    return bytes - untouched;
}

/* All that names files that are not covered, by relative names, which may lead anywhere. */
static void *work_beside(void *unused)
{
    struct stat found;
    uintptr_t wrong = 0;
    (void)unused;
    for (unsigned i = 0; i < rounds; i++) {
        int fd = open("small", O_CREAT | O_RDWR | O_TRUNC, 0600);
        wrong += fd < 0 || fstat(fd, &found) != 0 || close(fd) != 0;
        wrong += stat("small", &found) != 0 || lstat("small", &found) != 0;
        wrong += access("small", W_OK) != 0 || access("small", F_OK) != 0;
        wrong += chmod("small", 0644) != 0 || truncate("small", 5) != 0;
        wrong += rename("small", "other") != 0 || link("other", "third") != 0;
        wrong += mkdir("directory", 0700) != 0 || rmdir("directory") != 0 || !list(".");
        wrong += unlink("other") != 0 || unlinkat(AT_FDCWD, "third", 0) != 0;
        for (enum files_way way = 0; way < WAY_COUNT; way++) {
            wrong += files_check(".", i % count, way) != 0;
        }
    }
    return (void *)wrong;
}

static size_t in_thread(void *work(void *), size_t bytes, unsigned *wrong)
{
    void *result = NULL;
    pthread_t thread;
    pthread_attr_t attributes;
    unsigned char *stack =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(stack, MARK, bytes);
    pthread_attr_init(&attributes);
    *wrong += pthread_attr_setstack(&attributes, stack, bytes) != 0;
    *wrong += pthread_create(&thread, &attributes, work, NULL) != 0;
    pthread_join(thread, &result);
    *wrong += (unsigned)(uintptr_t)result;
    size_t used = used_of(stack, bytes);
    munmap(stack, bytes);
    return used;
}

int main(int argc, char **argv)
{
    char beside[512];
    unsigned wrong = 0;
    if (argc < 5) {
        return 2;
    }
    size_t bytes = (size_t)atol(argv[4]), least = (size_t)sysconf(_SC_THREAD_STACK_MIN);
    snprintf(beside, sizeof beside, "%s/../beside", argv[1]);
    count = (unsigned)atoi(argv[2]);
    rounds = (unsigned)atoi(argv[3]);
    wrong += chdir(beside) != 0;
    size_t used_beside = in_thread(work_beside, bytes, &wrong);
    in_thread(work_beside, least, &wrong);
    dir = argv[1];
    size_t used = 0;
    for (int i = 0; i < 4; i++) {
        size_t now = in_thread(read_all, bytes, &wrong);
        used = now > used ? now : used;
    }
    size_t now = in_thread(work_beside, bytes, &wrong); /* the cache is set up by now */
    used_beside = now > used_beside ? now : used_beside;
    in_thread(work_beside, least, &wrong);
    printf("wrong %u\n", wrong);
    fprintf(stderr, "used %zu, beside %zu\n", used, used_beside);
    return wrong > 0;
}
