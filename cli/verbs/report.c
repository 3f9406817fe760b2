/* `stoker report`: the record of a run, as a page or as JSON. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/embedded.h"
#include "cli/history/history.h"
#include "cli/history/run_place.h"
#include "cli/out/say.h"
#include "cli/verbs/verbs.h"

struct report_wanted {
    const char *run, *output;
    bool json, list;
};

/* ---- what is asked ---- */

static void take_output(struct report_wanted *wanted, char ***arguments)
{
    const char *value = (**arguments)[2] != '\0' ? **arguments + 2 : *++*arguments;
    if (value == NULL || *value == '\0') {
        die_wrong("-o needs a file, or - for standard output");
    }
    wanted->output = value;
}

static void parse(struct report_wanted *wanted, char **arguments)
{
    for (; *arguments != NULL; arguments++) {
        if (strcmp(*arguments, "--json") == 0) {
            wanted->json = true;
        } else if (strcmp(*arguments, "--list") == 0 || strcmp(*arguments, "--all") == 0) {
            wanted->list = true;
        } else if (strncmp(*arguments, "-o", 2) == 0) {
            take_output(wanted, &arguments);
        } else if ((*arguments)[0] == '-') {
            die_of_option(*arguments, "");
        } else if (wanted->run != NULL) {
            die("unexpected argument %s: one run at a time", *arguments);
        } else {
            wanted->run = *arguments;
        }
    }
}

/* ---- answers ---- */

int report_list(void)
{
    struct history_list names;
    int error = history_list(&names);
    for (unsigned i = 0; i < names.count; i++) {
        OWNED char *title = history_read(names.names[i], HISTORY_TITLE);
        say_line(stdout, "%s  %s", names.names[i], title != NULL ? title : "(cannot be read)");
    }
    if (names.count == 0 && !history_say_refused(error)) {
        say("no run has left a record yet: `stoker run` does at its end");
    }
    history_list_free(&names);
    return 0;
}

/* Returns the JSON of the run with this name, or NULL if its record cannot be read. The caller
 * frees. */
static char *read_wanted(const struct report_wanted *wanted, const char *name)
{
    char *text = history_read(name, HISTORY_JSON);
    if (text == NULL && wanted->run != NULL) {
        die("no record that can be read of a run %s: `stoker report --list` shows what there is",
            name);
    }
    return text;
}

/* Returns the JSON of the named run, or of the latest run with a record that can be read. The
 * caller frees it and the name. */
static char *find(const struct report_wanted *wanted, char **name)
{
    struct history_list names;
    char *text = NULL;
    int error = history_list(&names);
    run_place_sort(&names);
    *name = wanted->run != NULL ? must_copy(wanted->run) : NULL;
    for (unsigned i = 0; *name == NULL && i < names.count; i++) {
        text = read_wanted(wanted, names.names[i]);
        *name = text != NULL ? must_copy(names.names[i]) : NULL;
    }
    if (*name == NULL && history_say_refused(error)) {
        exit(STK_EXIT_USAGE);
    } else if (*name == NULL) {
        die("%s", names.count > 0
                      ? "no record can be read: `stoker report --list` shows what there is"
                      : "no run has left a record yet: `stoker run` does at its end");
    }
    history_list_free(&names);
    return text != NULL ? text : read_wanted(wanted, *name);
}

/* Writes the file. If its name was not chosen by the user, a link there is not followed. */
static void write_to(const char *path, const char *text, bool chosen)
{
    int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | (chosen ? O_NOFOLLOW : 0);
    int fd = open(path, flags, 0666);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool good = out != NULL && fputs(text, out) >= 0;
    if (out == NULL || fclose(out) != 0 || !good) {
        die("%s: %s: name a file that can be written, with -o FILE", path, strerror(errno));
    }
}

static void give(const struct report_wanted *wanted, const char *name, const char *text)
{
    if (wanted->output == NULL ? wanted->json : strcmp(wanted->output, "-") == 0) {
        fputs(text, stdout);
        return;
    }
    OWNED char *chosen = must_format("stoker-report-%s.html", name);
    const char *path = wanted->output != NULL ? wanted->output : chosen;
    write_to(path, text, wanted->output == NULL);
    say("%s is in %s%s", wanted->json ? "the record" : "the report", path,
        wanted->json ? "" : ": open it in a browser");
}

/* ---- the page ---- */

EMBEDDED_TEXT(page_template, "cli/report/page.html")

#define PLACE "@RECORD@" /* of the JSON in the page's template */

/* Writes JSON that no HTML parser takes for a tag: "<" occurs in strings only, where it is
 * escaped. */
static void put_json(FILE *out, const char *json)
{
    for (; *json != '\0'; json++) {
        if (*json == '<') {
            fputs("\\u003c", out);
        } else {
            fputc(*json, out);
        }
    }
}

/* Returns the page of a record's JSON (cli/history/history.h). A static file, page.html, has its
 * own script and style, and draws the JSON. That is inside the page, which loads nothing else. The
 * caller frees. */
static char *page_of(const char *json)
{
    char *text = NULL;
    size_t bytes;
    const char *place = strstr(page_template, PLACE);
    FILE *out = must_open_text(&text, &bytes);
    fwrite(page_template, 1, (size_t)(place - page_template), out);
    put_json(out, json);
    fputs(place + strlen(PLACE), out);
    if (fclose(out) != 0) {
        die("the report's page: out of memory");
    }
    return text;
}

int verb_report(char **arguments)
{
    struct report_wanted wanted = {.run = NULL};
    parse(&wanted, arguments);
    if (wanted.list) {
        return report_list();
    }
    OWNED char *name = NULL, *text = find(&wanted, &name);
    OWNED char *page = wanted.json ? NULL : page_of(text);
    give(&wanted, name, page != NULL ? page : text);
    return 0;
}
