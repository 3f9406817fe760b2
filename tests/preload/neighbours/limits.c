/*
 * Few descriptors: limits DIR COUNT. With a limit of 20, opens files until there is no more room.
 * Prints which numbers it got and how it ended, and what can be read through them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/preload/neighbours/files.h"

#define MOST 20

static int fill_up(const char *dir, unsigned count, int *fds)
{
    char name[512];
    int opened = 0;
    for (; opened < MOST; opened++) {
        files_name(name, sizeof name, dir, (unsigned)opened % count);
        errno = 0;
        fds[opened] = open(name, O_RDONLY);
        printf("open %d errno %d\n", fds[opened], errno);
        if (fds[opened] < 0) {
            break;
        }
    }
    return opened;
}

static void look_around(const char *dir, unsigned number)
{
    char name[512];
    struct stat found;
    files_name(name, sizeof name, dir, number);
    int result = stat(name, &found);
    printf("stat %d size %ld\n", result, result == 0 ? (long)found.st_size : 0);
    errno = 0;
    FILE *stream = fopen(name, "r");
    printf("fopen %s errno %d\n", stream != NULL ? "yes" : "no", errno);
}

int main(int argc, char **argv)
{
    int fds[MOST];
    struct rlimit limit = {MOST, MOST};
    if (argc < 3) {
        return 2;
    }
    unsigned count = (unsigned)atoi(argv[2]);
    setrlimit(RLIMIT_NOFILE, &limit);
    for (int round = 0; round < 3; round++) {
        int opened = fill_up(argv[1], count, fds);
        look_around(argv[1], count - 1);
        for (int i = 0; i < opened; i++) {
            printf("content %d\n", files_compare(fds[i], (unsigned)i % count));
            close(fds[i]);
        }
    }
    return 0;
}
