#include "cli/doctor/doctor.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/options.h"
#include "cli/out/break_text.h"
#include "cli/out/sanitise.h"
#include "cli/out/say.h"
#include "cli/out/screen.h"

enum { MOST_PATHS = 16 };

static const struct check {
    const char *name;
    void (*look)(struct doctor *doctor);
} checks[] = {
    {"shared memory", doctor_look_at_shared_memory},
    {"huge pages", doctor_look_at_huge_pages},
    {"control group", doctor_look_at_group},
    {"locked memory", doctor_look_at_memlock},
    {"descriptors", doctor_look_at_descriptors},
    {"data set", doctor_look_at_data},
    {"libc", doctor_look_at_libc},
    {"library", doctor_look_at_library},
    {"LD_PRELOAD", doctor_look_at_preloads},
    {"variables", doctor_look_at_variables},
    {"command", doctor_look_at_command},
    {"Python", doctor_look_at_python},
    {"decoded copies", doctor_look_at_samples},
    {"GPU", doctor_look_at_gpu},
};

/* ---- findings ---- */

static const char *const words[] = {"ok", "advice:", "warning:"};

static void show_json(const struct doctor *doctor, enum doctor_level level, const char *text,
                      const char *fix)
{
    static const char *const names[] = {"ok", "advice", "warning"};
    json_object(doctor->json, NULL);
    json_text(doctor->json, "check", doctor->now);
    json_bool(doctor->json, "ok", level == DOCTOR_OK);
    json_text(doctor->json, "level", names[level]);
    json_text(doctor->json, "text", text);
    if (fix != NULL) {
        json_text(doctor->json, "fix", fix);
    }
    json_end(doctor->json);
}

/* Writes a finding, in rows of the terminal if it goes to one. */
static void say_finding(const char *word, const char *check, char *text)
{
    enum { INDENT = 24 };
    unsigned columns = UINT_MAX, rows;
    if (isatty(STDOUT_FILENO)) {
        screen_size(&columns, &rows);
    }
    printf("%-8s %-14s ", word, check);
    break_text(stdout, sanitise_line(text), columns, INDENT, INDENT);
    putchar('\n');
}

void doctor_say(struct doctor *doctor, enum doctor_level level, const char *fix, const char *format,
                ...)
{
    char text[1024];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    if (doctor->json != NULL) {
        show_json(doctor, level, text, fix);
    } else {
        say_finding(words[level], doctor->now, text);
    }
    if (doctor->json == NULL && fix != NULL) {
        say_line(stdout, "%-8s %-14s to %s it: %s", "", "",
                 level == DOCTOR_ADVICE ? "change" : "mend", fix);
    }
    doctor->found++;
    doctor->wrong += level == DOCTOR_WARNING;
    doctor->advised += level == DOCTOR_ADVICE;
}

void doctor_no_process(struct doctor *doctor, const char *what)
{
    doctor_warn(doctor, "end some processes, or raise the limit (ulimit -u)",
                "%s could not be looked at: no process could be started", what);
}

/* ---- the verb ---- */

/* Adds the paths that the environment covers, if none are named. */
static void add_paths_of_environment(char **paths)
{
    char path[4096];
    unsigned count = 0;
    const char *list = stk_option_value(STK_OPTION_PATHS);
    while (count < MOST_PATHS && list != NULL && stk_options_next_path(&list, path, sizeof path)) {
        paths[count++] = must_copy(path);
    }
}

static void parse(struct doctor *doctor, char **paths, char **arguments)
{
    static struct json json;
    unsigned count = 0;
    for (; *arguments != NULL && strcmp(*arguments, "--") != 0; arguments++) {
        if (strcmp(*arguments, "--json") == 0) {
            json = json_begin_list(stdout);
            doctor->json = &json;
        } else if ((*arguments)[0] == '-') {
            die_of_option(*arguments, " (the command goes behind --)");
        } else if (count == MOST_PATHS) {
            die("%s: at most %d paths", *arguments, MOST_PATHS);
        } else {
            paths[count++] = *arguments;
        }
    }
    if (count == 0) {
        add_paths_of_environment(paths);
    }
    doctor->paths = paths;
    doctor->command = arguments[0] != NULL && arguments[1] != NULL ? arguments + 1 : NULL;
}

static void end(const struct doctor *doctor)
{
    if (doctor->json != NULL) {
        json_finish(doctor->json);
        return;
    }
    if (doctor->wrong == 0) {
        printf("nothing is to be mended");
    } else {
        printf("warnings: %u", doctor->wrong);
    }
    printf(doctor->advised > 0 ? "; advice: %u\n" : "\n", doctor->advised);
}

int verb_doctor(char **arguments)
{
    char *paths[MOST_PATHS + 1] = {NULL};
    struct doctor doctor = {.json = NULL};
    parse(&doctor, paths, arguments);
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        doctor.now = checks[i].name;
        fflush(stdout); /* since checks start programs */
        checks[i].look(&doctor);
    }
    end(&doctor);
    return doctor.wrong > 0;
}
