/* `stoker last`: the summary of the run that ended last, in case its own output is lost. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cache/catalogue/home.h"
#include "cache/run/run.h"
#include "cli/history/history.h"
#include "cli/history/run_place.h"
#include "cli/out/say.h"
#include "cli/run/live_runs.h"
#include "cli/verbs/verbs.h"

static bool any_lives(void)
{
    char home[STK_HOME_BYTES];
    return stk_home_find_existing(home) == 0 && live_count(home).runs > 0;
}

/* Returns true if the run has ended. If its record does not say how it ended, it lives or was
 * killed. */
static bool is_over(const char *title, bool living)
{
    return !living || strncmp(title, "ended ", strlen("ended ")) == 0;
}

static void print_lines(char *text)
{
    char *rest = text, *line;
    while ((line = strsep(&rest, "\n")) != NULL) {
        if (rest != NULL || *line != '\0') {
            say_line(stdout, "%s", line);
        }
    }
}

static bool print(const char *name, bool living)
{
    OWNED char *title = history_read(name, HISTORY_TITLE);
    OWNED char *summary = history_read(name, HISTORY_SUMMARY);
    bool over = title != NULL && summary != NULL && is_over(title, living);
    if (over) {
        say_line(stdout, "%s", title);
        print_lines(summary);
    }
    return over;
}

/* Says so if there was no run: without the command, no end is recorded. */
static void say_if_outside(void)
{
    static struct stk_run_view view;
    char home[STK_HOME_BYTES], path[STK_HOME_BYTES];
    bool there = stk_home_find_existing(home) == 0 && stk_run_path(path, home, STK_RUN_OUTSIDE) &&
                 stk_run_look(path, &view) == 0;
    if (there && view.counts.epochs[0][STK_COUNT_OPENS] > 0) {
        say("what has run without `stoker run` is summed up by `stoker env --end`");
    }
}

int verb_last(char **arguments)
{
    struct history_list names;
    bool found = false, passed = false, living = any_lives();
    bool all = arguments[0] != NULL && strcmp(arguments[0], "--all") == 0;
    if (arguments[all] != NULL) {
        die("last takes only --all; unexpected: %s", arguments[all]);
    }
    if (all) {
        return report_list();
    }
    int error = history_list(&names);
    OWNED char *newest = must_copy(names.count > 0 ? names.names[0] : "");
    run_place_sort(&names);
    for (unsigned i = 0; i < names.count && !found; i++) {
        found = print(names.names[i], living);
        passed = passed || strcmp(names.names[i], newest) == 0;
    }
    if (found && !passed) {
        say("a newer run was started in another directory: `stoker last --all` lists all");
    }
    history_list_free(&names);
    say_if_outside();
    if (!found && !history_say_refused(error)) {
        say("no run of yours has left a record yet: `stoker run` leaves one when it ends");
    }
    return !found;
}
