/*
 * A child of a process with threads: forks DIR COUNT [unused]. A thread is inside the loader, whose
 * lock it has, when the main thread forks; in the child no thread will ever release that lock.
 * There the first calls are made of everything that the parent has not used yet: of all there is,
 * with `unused`.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/preload/neighbours/files.h"

#define PATIENCE_S 20

static sem_t inside, over;

static int stay(struct dl_phdr_info *info, size_t bytes, void *unused)
{
    (void)info;
    (void)bytes;
    (void)unused;
    sem_post(&inside);
    sem_wait(&over);
    return 1;
}

static void *look_at_objects(void *unused)
{
    dl_iterate_phdr(stay, NULL);
    return unused;
}

static int in_child(const char *dir, unsigned count)
{
    char name[512], other[600];
    struct stat stat_;
    int wrong = 0;
    alarm(PATIENCE_S);
    for (unsigned i = 0; i < count; i++) {
        files_name(name, sizeof name, dir, i);
        wrong += files_check(dir, i, WAY_OPENAT) != 0;
        wrong += files_check(dir, i, WAY_FOPEN) != 0;
        wrong += stat(name, &stat_) != 0 || lstat(name, &stat_) != 0;
        wrong += access(name, R_OK) != 0;
    }
    snprintf(other, sizeof other, "%s.%d", name, (int)getpid());
    wrong += link(name, other) != 0 || chmod(other, stat_.st_mode) != 0;
    wrong += setxattr(name, "user.none", "x", 1, XATTR_REPLACE) == 0 || unlink(other) != 0;
    wrong += setgid(getgid()) != 0 || chdir(dir) != 0;
    return wrong;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int status = -1;
    if (argc < 3) {
        fprintf(stderr, "usage: %s DIR COUNT [unused]\n", argv[0]);
        return 2;
    }
    int wrong = argc == 3 && files_check(argv[1], 0, WAY_OPEN) != 0;
    sem_init(&inside, 0, 0);
    sem_init(&over, 0, 0);
    pthread_create(&thread, NULL, look_at_objects, NULL);
    sem_wait(&inside);
    pid_t pid = fork();
    if (pid == 0) {
        _exit(in_child(argv[1], (unsigned)atoi(argv[2])));
    }
    waitpid(pid, &status, 0);
    sem_post(&over);
    pthread_join(thread, NULL);
    printf("wrong %d, child %d\n", wrong, status);
    return wrong != 0 || status != 0;
}
