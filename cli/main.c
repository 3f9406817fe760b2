/* The `stoker` command: the table of its verbs. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/own_number.h"
#include "cli/doctor/doctor.h"
#include "cli/help/help.h"
#include "cli/os/clock_page.h"
#include "cli/os/config_file.h"
#include "cli/out/nearest.h"
#include "cli/out/say.h"
#include "cli/top/top.h"
#include "cli/verbs/verbs.h"
#include "cli/verify/verify.h"

static int verb_help(char **arguments);

static const struct verb {
    const char *name;
    int (*run)(char **arguments);
} verbs[] = {
    {"run", verb_run},       {"warm", verb_warm},     {"ls", verb_ls},     {"clear", verb_clear},
    {"env", verb_env},       {"top", verb_top},       {"last", verb_last}, {"verify", verb_verify},
    {"doctor", verb_doctor}, {"report", verb_report}, {"help", verb_help},
};

static void nearest_try_verbs(struct nearest *nearest)
{
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        nearest_try(nearest, verbs[i].name);
    }
}

static const char *nearest_option(const char *verb, const char *word)
{
    struct nearest nearest = nearest_to(word);
    const struct help_option *option = help_find(verb)->options;
    for (; option->flag != NULL; option++) {
        if (strncmp(option->flag, "--", 2) == 0) {
            nearest_try(&nearest, option->flag + 2);
        }
    }
    return nearest.best;
}

static void print_completion(const char *shell)
{
    if (shell == NULL || strcmp(shell, "bash") == 0) {
        completion_bash();
    } else if (strcmp(shell, "zsh") == 0) {
        completion_zsh();
    } else if (strcmp(shell, "fish") == 0) {
        completion_fish();
    } else {
        die("no completion for %s: write bash, zsh or fish", shell);
    }
}

static const char environment_topic[] = "environment";

static void die_of_topic(const char *word) __attribute__((noreturn));
static void die_of_topic(const char *word)
{
    struct nearest nearest = nearest_to(word);
    nearest_try(&nearest, environment_topic);
    nearest_try_verbs(&nearest);
    if (nearest.best != NULL) {
        die("no help on %s: did you mean `stoker help %s`?", word, nearest.best);
    }
    die("no help on %s: see `stoker --help`", word);
}

/* `stoker help [COMMAND|environment]`. Also prints the completion. */
static int verb_help(char **arguments)
{
    if (arguments[0] == NULL || help_is_flag(arguments[0])) {
        help_overview(stdout);
    } else if (strcmp(arguments[0], "--completion") == 0) {
        print_completion(arguments[1]);
    } else if (strcmp(arguments[0], environment_topic) == 0) {
        help_environment();
    } else if (help_find(arguments[0]) != NULL) {
        help_verb(help_find(arguments[0]));
    } else {
        die_of_topic(arguments[0]);
    }
    return 0;
}

static void die_of_verb(const char *word) __attribute__((noreturn));
static void die_of_verb(const char *word)
{
    struct nearest nearest = nearest_to(word);
    nearest_try_verbs(&nearest);
    if (nearest.best != NULL) {
        die("unknown verb %s: did you mean `stoker %s`?", word, nearest.best);
    }
    if (word[0] == '-') {
        die("a verb stands before %s, as in `stoker run %s`: see `stoker --help`", word, word);
    }
    die("unknown verb %s: see `stoker --help`", word);
}

/* Opens closed standard streams, so that no file of ours gets their numbers and then receives
 * messages. They are opened the wrong way: a read or write fails as on a closed one. Programs that
 * are started find them closed. */
static void hold_streams(void)
{
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) < 0) {
            open("/dev/null", (fd == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
        }
    }
}

/* Sets a variable that the user has set by its older name only. */
static void adopt_older_names(void)
{
    const char *value = stk_option_value(STK_OPTION_OLDER_SAMPLES);
    if (value != NULL) {
        setenv(stk_option_table[STK_OPTION_SAMPLES].variable, value, 0);
    }
}

/* Returns the exit status. Output that could not be written makes it a failure. */
static int finish(int status)
{
    const char *cause = fflush(stdout) != 0 ? strerror(errno)
                        : ferror(stdout)    ? "an earlier write failed"
                                            : NULL;
    if (cause != NULL) {
        say("standard output could not be written: %s", cause);
    }
    return cause == NULL || status != 0 ? status : STK_EXIT_USAGE;
}

static int run(int count, char **arguments)
{
    if (count < 2) {
        help_overview(stderr);
        return STK_EXIT_USAGE;
    }
    if (help_is_flag(arguments[1])) {
        help_overview(stdout);
        return 0;
    }
    if (strcmp(arguments[1], "--version") == 0) {
        puts("stoker " STK_VERSION);
        return 0;
    }
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (strcmp(arguments[1], verbs[i].name) == 0) {
            const struct help_verb *help = help_find(arguments[1]);
            if (help != NULL && help_is_asked(help, arguments + 2)) {
                help_verb(help);
                return 0;
            }
            say_verb(arguments[1], nearest_option);
            return verbs[i].run(arguments + 2);
        }
    }
    if (strcmp(arguments[1], "share") == 0) {
        die("share: `install -d -g GROUP -m 3770 DIR` makes a directory for `stoker run --share "
            "GROUP --tier DIR`");
    }
    die_of_verb(arguments[1]);
}

int main(int count, char **arguments)
{
    stk_own_number_begin_alone();
    clock_page_use();
    hold_streams();
    config_files_read();
    adopt_older_names();
    return finish(run(count, arguments));
}
