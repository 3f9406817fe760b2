#include "cli/os/ending.h"

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/os/descriptors.h"
#include "cli/out/say.h"

#define SHELL_SIGNALS 128 /* a shell ends with this and the number of the signal */

/* ---- memory ---- */

/* Reads the number behind a name at the start of a line. Returns false if there is none. */
static bool read_number(const char *path, const char *name, uint64_t *out)
{
    char line[256];
    bool found = false;
    OWNED_FILE FILE *file = fopen(path, "re");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        size_t length = strlen(name);
        found = strncmp(line, name, length) == 0 && sscanf(line + length, "%" SCNu64, out) == 1;
    }
    return found;
}

/* Reads how many processes of this control group were killed. */
static bool read_group(uint64_t *out)
{
    char line[1024];
    OWNED char *path = NULL;
    OWNED_FILE FILE *file = fopen("/proc/self/cgroup", "re");
    while (file != NULL && path == NULL && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        path = strncmp(line, "0::", 3) == 0
                   ? must_format("/sys/fs/cgroup%s/memory.events", line + 3)
                   : NULL;
    }
    return path != NULL && read_number(path, "oom_kill ", out);
}

int64_t ending_memory_kills(void)
{
    uint64_t kills = 0;
    return read_group(&kills) || read_number("/proc/vmstat", "oom_kill ", &kills) ? (int64_t)kills
                                                                                  : ENDING_UNKNOWN;
}

int64_t ending_memory_kills_since(int64_t earlier)
{
    int64_t now = ending_memory_kills();
    return now < 0 || earlier < 0 ? ENDING_UNKNOWN : now - earlier;
}

/* ---- the end ---- */

static const char *signal_name(int number)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {{SIGKILL, "SIGKILL"}, {SIGSEGV, "SIGSEGV"},
                 {SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT, as Ctrl-C"},
                 {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},
                 {SIGHUP, "SIGHUP"},   {SIGILL, "SIGILL"},
                 {SIGFPE, "SIGFPE"},   {SIGPIPE, "SIGPIPE"},
                 {SIGXCPU, "SIGXCPU"}, {SIGUSR1, "SIGUSR1"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].number == number) {
            return names[i].name;
        }
    }
    return NULL;
}

static char *text_of_signal(int number, int64_t kills)
{
    const char *name = signal_name(number);
    char *text = name != NULL ? must_format("was killed by %s", name)
                              : must_format("was killed by signal %d", number);
    return number != SIGKILL || kills < 0 ? text
           : kills > 0 ? must_append(text, ": the kernel says that memory ran out")
                       : must_append(text, ", and not by the kernel for want of memory");
}

char *ending_text(int status, int64_t kills)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    const char *name = code > SHELL_SIGNALS ? signal_name(code - SHELL_SIGNALS) : NULL;
    if (WIFSIGNALED(status)) {
        return text_of_signal(WTERMSIG(status), kills);
    }
    if (code == 0) {
        return NULL;
    }
    char *text = must_format("ended with %d", code);
    text = name != NULL ? must_append(text, ", as a shell does after %s", name) : text;
    return kills > 0 ? must_append(text, "; meanwhile the kernel killed a process for want of "
                                         "memory")
                     : text;
}
