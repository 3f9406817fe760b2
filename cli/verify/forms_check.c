#include "cli/verify/forms_check.h"

#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/os/python.h"
#include "cli/out/say.h"

extern char **environ;

struct reading {
    struct forms_found before; /* those of other stores */
    struct forms_found *found;
    void (*note)(const char *path);
};

/* Takes one record of the program's output; see _verify.py. */
static void take(struct reading *reading, const char *record)
{
    struct forms_found *found = reading->found;
    uint64_t right, bytes, unreadable;
    if (record[0] == 'd' || record[0] == 'k') {
        found->differ++;
        found->kept += record[0] == 'k';
        reading->note(record + 1);
    } else if (sscanf(record, "p%" SCNu64 " %" SCNu64 " %" SCNu64, &right, &bytes, &unreadable) ==
               3) {
        found->right = reading->before.right + right;
        found->bytes = reading->before.bytes + bytes;
        found->unreadable = reading->before.unreadable + unreadable;
        reading->note(NULL);
    }
}

static void take_all(struct reading *reading, int fd)
{
    OWNED char *record = NULL;
    size_t room = 0;
    FILE *in = fdopen(fd, "re");
    while (in != NULL && getdelim(&record, &room, '\0', in) > 0) {
        take(reading, record);
    }
    if (in != NULL) {
        fclose(in);
    } else {
        close(fd);
    }
}

/* The program that compares samples. Its arguments are SAMPLES SHARE SEED PATH... */
static const char program[] =
    PYTHON_ISOLATED "from stoker import _verify\nsys.exit(_verify.main(*sys.argv[1:]))\n";

static char **command_of(const char *samples, const struct forms_wanted *wanted)
{
    size_t count = 0;
    while (wanted->paths[count] != NULL) {
        count++;
    }
    char **command = must_allocate((count + 7) * sizeof *command);
    char *const first[] = {must_copy("python3"),
                           must_copy("-c"),
                           must_copy(program),
                           must_copy(samples),
                           must_format("%.9f", wanted->share),
                           must_format("%" PRIx64, wanted->seed)};
    memcpy(command, first, sizeof first);
    for (size_t i = 0; i <= count; i++) {
        command[6 + i] = wanted->paths[i];
    }
    return command;
}

static void free_command(char **command)
{
    for (int i = 0; i < 6; i++) {
        free(command[i]);
    }
    free(command);
}

/* Starts the program. Returns its output's descriptor, or -1. It reads the origin, even if this
 * command runs under Stoker. */
static int start(const char *samples, const struct forms_wanted *wanted, pid_t *pid)
{
    int ends[2];
    posix_spawn_file_actions_t actions;
    OWNED char *package = python_package_path();
    if (package == NULL || pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }
    python_set_isolated(package);
    unsetenv("LD_PRELOAD");
    char **command = command_of(samples, wanted);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    int error = posix_spawnp(pid, command[0], &actions, NULL, command, environ);
    posix_spawn_file_actions_destroy(&actions);
    free_command(command);
    close(ends[1]);
    if (error != 0) {
        close(ends[0]);
    }
    return error == 0 ? ends[0] : -1;
}

bool forms_check(const char *samples, const struct forms_wanted *wanted, struct forms_found *found,
                 void (*note)(const char *path))
{
    pid_t pid;
    int status = -1, fd = start(samples, wanted, &pid);
    struct reading reading = {*found, found, note};
    if (fd < 0) {
        say("decoded copies are not compared: python3 with the package stoker cannot be "
            "started");
        return false;
    }
    take_all(&reading, fd);
    if (waitpid(pid, &status, 0) != pid || status != 0) {
        say("decoded copies could not all be compared: python3 failed");
        return false;
    }
    return true;
}
