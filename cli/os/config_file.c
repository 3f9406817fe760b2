#include "cli/os/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/options.h"
#include "cli/os/detached.h"
#include "cli/out/nearest.h"
#include "cli/out/say.h"

#define MACHINES    "/etc/stoker.conf"
#define TEXT_BYTES  16384
#define PATIENCE_MS 3000

struct config_text {
    int error;           /* why the file could not be opened; 0 if none is seen there */
    const char *against; /* why it is not to be read, or NULL: a literal, the same in the child */
    char text[TEXT_BYTES];
};

/* Returns why the file is not to be read, or NULL. */
static const char *reason_against(const struct stat *stat)
{
    if (!S_ISREG(stat->st_mode)) {
        return S_ISDIR(stat->st_mode) ? "it is a directory" : "it is no regular file";
    }
    bool trusted = (stat->st_uid == 0 || stat->st_uid == geteuid()) && (stat->st_mode & 022) == 0;
    return trusted ? NULL : "another user could change it: chmod go-w, or chown it";
}

static void read_text(void *path, int out)
{
    static struct config_text answer;
    struct stat stat_;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), error = errno;
    answer.error = fd < 0 && lstat(path, &stat_) == 0 ? error : 0; /* a home may be closed to us */
    if (fd >= 0 && fstat(fd, &stat_) == 0) {
        answer.against = reason_against(&stat_);
        ssize_t got = answer.against != NULL ? 0 : read(fd, answer.text, TEXT_BYTES - 1);
        answer.text[got > 0 ? got : 0] = '\0';
    }
    detached_answer(out, &answer, sizeof answer);
}

/* ---- lines ---- */

static char *trimmed(char *text)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r", text[length - 1]) != NULL) {
        text[--length] = '\0';
    }
    return text;
}

/* Returns true if the user may set the option: not one by which the command speaks to the job. */
static bool is_for_users(int option)
{
    return option != STK_OPTION_RUN && option != STK_OPTION_ORDERS &&
           option != STK_OPTION_OUTER_PATHS && option != STK_OPTION_OUTER_RUNS;
}

static void say_unknown(const char *path, const char *name)
{
    struct nearest nearest = nearest_to(name);
    for (int i = 0; i < STK_OPTION_COUNT; i++) {
        const char *flag = stk_option_table[i].flag;
        nearest_try(&nearest, stk_option_table[i].variable);
        if (flag != NULL && strcmp(flag + strspn(flag, "-"), name) == 0) {
            nearest.best = stk_option_table[i].variable;
            break;
        }
    }
    if (nearest.best != NULL) {
        say("%s: %s is no option: did you mean %s?", path, name, nearest.best);
    } else {
        say("%s: %s is no option: `stoker help environment` lists them", path, name);
    }
}

static void take_line(const char *path, char *line)
{
    char *equals = strchr(line, '=');
    if (*line == '\0' || *line == '#') {
        return;
    }
    if (equals == NULL) {
        say("%s: %s: write NAME=VALUE", path, line);
        return;
    }
    *equals = '\0';
    const char *name = trimmed(line);
    for (int i = 0; i < STK_OPTION_COUNT; i++) {
        if (is_for_users(i) && strcmp(stk_option_table[i].variable, name) == 0) {
            setenv(name, trimmed(equals + 1), 0);
            return;
        }
    }
    say_unknown(path, name);
}

static void take_file(const char *path)
{
    static struct config_text answer;
    char *copy = must_copy(path), *rest = answer.text, *line;
    if (detached_ask(read_text, copy, &answer, sizeof answer, PATIENCE_MS) == DETACHED_ANSWERED) {
        if (answer.error != 0) {
            say("%s is not read: %s", path, strerror(answer.error));
        } else if (answer.against != NULL) {
            say("%s is not read: %s", path, answer.against);
        }
        while ((line = strsep(&rest, "\n")) != NULL) {
            take_line(path, trimmed(line));
        }
    }
    free(copy);
}

void config_files_read(void)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    OWNED char *own = config != NULL && *config == '/' ? must_format("%s/stoker.conf", config)
                      : home != NULL && *home == '/'   ? must_format("%s/.config/stoker.conf", home)
                                                       : NULL;
    if (own != NULL) {
        take_file(own);
    }
    if (access(MACHINES, F_OK) == 0) {
        take_file(MACHINES);
    }
}
