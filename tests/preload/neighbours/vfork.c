/*
 * Children that share our memory: vfork DIR COUNT ROUNDS. The child opens files, and then executes
 * a program, or fails to, or ends; the parent opens the same afterwards. In a second round threads
 * open all the while.
 */
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/preload/neighbours/files.h"

extern char **environ;

static const char *dir;
static unsigned count, wrong;
static atomic_bool over;

enum end { EXECUTE, FAIL_TO_EXECUTE, END, ENDS };

static void in_child(unsigned number, enum end end)
{
    char name[512];
    int bad = files_check(dir, number, WAY_OPEN) != 0 || files_check(dir, number, WAY_OPENAT) != 0;
    files_name(name, sizeof name, dir, number);
    if (end == EXECUTE) {
        execl("/bin/sh", "sh", "-c", bad ? "exit 9" : "cat \"$1\" >/dev/null", "sh", name,
              (char *)NULL);
    } else if (end == FAIL_TO_EXECUTE) {
        execl("/nonexistent", "nonexistent", (char *)NULL);
    }
    _exit(bad);
}

static void one_child(unsigned number, enum end end)
{
    int status = -1;
    pid_t pid = vfork();
    if (pid == 0) {
        in_child(number, end);
    }
    waitpid(pid, &status, 0);
    wrong += status != 0;
    wrong += files_check(dir, number, WAY_FOPEN) != 0;
}

/* libc opens the child's standard input itself, between its vfork and its exec. */
static void spawn(unsigned number)
{
    char name[512], program[] = "cat";
    char *argv[] = {program, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status = -1;
    files_name(name, sizeof name, dir, number);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, name, O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    wrong += posix_spawnp(&pid, "cat", &actions, NULL, argv, environ) != 0;
    posix_spawn_file_actions_destroy(&actions);
    waitpid(pid, &status, 0);
    wrong += status != 0;
}

static void *keep_reading(void *argument)
{
    unsigned *bad = argument;
    for (unsigned i = 0; !atomic_load(&over); i++) {
        *bad += files_check(dir, i % count, i % WAY_COUNT) != 0;
    }
    return NULL;
}

static void all(unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        for (enum end end = 0; end < ENDS; end++) {
            one_child(i % count, end);
        }
        spawn(i % count);
    }
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        return 2;
    }
    pthread_t threads[2];
    unsigned bad[2] = {0, 0};
    dir = argv[1];
    count = (unsigned)atoi(argv[2]);
    all((unsigned)atoi(argv[3]));
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, keep_reading, &bad[i]);
    }
    all((unsigned)atoi(argv[3]));
    atomic_store(&over, true);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        wrong += bad[i];
    }
    printf("wrong %u\n", wrong);
    return wrong > 0;
}
