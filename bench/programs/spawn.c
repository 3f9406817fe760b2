/*
 * Starts one command again and again, in several environments in turn: nanoseconds per run.
 *
 *     spawn COUNT LANE... -- COMMAND...
 *
 * A lane is what it adds to the environment: NAME=VALUE, several separated by spaces, or `-` for
 * nothing. One start in each lane, then the next round, so that all see the same machine; the
 * lanes of a round begin with another one each time. The command's output goes nowhere.
 *
 * Prints one line for each lane: the nanoseconds of each run, from the spawn to the end.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#define LANES 8
#define ADDED 8

extern char **environ;

struct lane {
    char **environment;
    long long *ns;
};

static __attribute__((noreturn)) void fail(const char *what)
{
    fprintf(stderr, "spawn: %s\n", what);
    exit(1);
}

static void *allocate(size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);
    if (memory == NULL) {
        fail("out of memory");
    }
    return memory;
}

static long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static char **make_environment(char *added)
{
    size_t count = 0;
    while (environ[count] != NULL) {
        count++;
    }
    char **environment = allocate(count + ADDED + 1, sizeof *environment);
    memcpy(environment, environ, count * sizeof *environment);
    char *rest = strcmp(added, "-") != 0 ? added : NULL;
    for (char *each; (each = strsep(&rest, " ")) != NULL;) {
        environment[count++] = each;
    }
    return environment;
}

static void silence(posix_spawn_file_actions_t *actions)
{
    if (posix_spawn_file_actions_init(actions) != 0 ||
        posix_spawn_file_actions_addopen(actions, 1, "/dev/null", O_WRONLY, 0) != 0) {
        fail("out of memory");
    }
}

static long long run(char **command, char **environment, const posix_spawn_file_actions_t *actions)
{
    pid_t pid;
    int status;
    long long start_ns = now_ns();
    if (posix_spawnp(&pid, command[0], actions, NULL, command, environment) != 0) {
        fail("the command cannot be started");
    }
    if (waitpid(pid, &status, 0) != pid || status != 0) {
        fail("the command failed");
    }
    return now_ns() - start_ns;
}

static void print_lane(const struct lane *lane, int count)
{
    for (int i = 0; i < count; i++) {
        printf("%lld%c", lane->ns[i], i + 1 < count ? ' ' : '\n');
    }
}

int main(int count, char **arguments)
{
    struct lane lanes[LANES] = {0};
    posix_spawn_file_actions_t actions;
    int lane_count = 0, rounds = count > 1 ? atoi(arguments[1]) : 0;
    char **argument = count > 1 ? arguments + 2 : arguments + 1;
    for (; *argument != NULL && strcmp(*argument, "--") != 0 && lane_count < LANES; argument++) {
        lanes[lane_count].environment = make_environment(*argument);
        lanes[lane_count++].ns = allocate((size_t)rounds + 1, sizeof(long long));
    }
    if (lane_count == 0 || *argument == NULL || argument[1] == NULL || rounds <= 0) {
        fail("usage: spawn COUNT LANE... -- COMMAND...");
    }
    silence(&actions);
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < lane_count; i++) {
            struct lane *lane = &lanes[(i + round) % lane_count];
            lane->ns[round] = run(argument + 1, lane->environment, &actions);
        }
    }
    for (int i = 0; i < lane_count; i++) {
        print_lane(&lanes[i], rounds);
    }
    return 0;
}
