/* `stoker env`: the exports that do without the command, for job scripts; and the options table as
 * documentation. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "cli/library.h"
#include "cli/request.h"
#include "cli/say.h"
#include "cli/tiers.h"
#include "cli/verbs.h"

/* Prints a value in single quotes, as every shell reads it. */
static void print_quoted(const char *value)
{
    putchar('\'');
    for (; *value != '\0'; value++) {
        if (*value == '\'') {
            fputs("'\\''", stdout);
        } else {
            putchar(*value);
        }
    }
    putchar('\'');
}

static void print_export(const char *name, const char *value)
{
    printf("export %s=", name);
    print_quoted(value);
    putchar('\n');
}

static int print_markdown(void)
{
    printf("# Options\n\n"
           "Generated from the one options table, `base/options.c`, by `stoker env --markdown`.\n"
           "A flag of `stoker run` and `stoker env` wins over the variable; `stoker run` sets the\n"
           "variables for everything that it starts.\n");
    for (int i = 0; i < STK_OPTION_COUNT; i++) {
        const struct stk_option_row *row = &stk_option_table[i];
        printf("\n## %s\n\n", row->variable);
        printf("`%s=%s`", row->variable, row->argument);
        if (row->flag != NULL) {
            printf(", flag `%s`", row->flag);
        }
        printf(", default %s%s%s\n\n%s\n", *row->otherwise ? "`" : "",
               *row->otherwise ? row->otherwise : "none", *row->otherwise ? "`" : "", row->meaning);
    }
    return 0;
}

/* What only the command can do. */
static void refuse_idle(const struct request *request)
{
    const char *idle = request->json != NULL ? "--json"
                       : request->keep       ? "--keep"
                       : request->warm       ? "--warm"
                                             : NULL;
    if (idle != NULL) {
        die("%s has no meaning without `stoker run`", idle);
    }
    if (request->samples_bytes >= 0) {
        die("--samples %s has no meaning without `stoker run`, which grants it: name a directory "
            "of "
            "your own, --samples DIR:SIZE",
            request->samples);
    }
}

int verb_env(char **arguments)
{
    struct request request;
    char home[STK_HOME_BYTES], home_of_tier[STK_HOME_BYTES];
    if (arguments[0] != NULL && strcmp(arguments[0], "--markdown") == 0 && arguments[1] == NULL) {
        return print_markdown();
    }
    request_parse(&request, arguments, false);
    refuse_idle(&request);
    if (stk_home_find(home) != 0) {
        die("no tmpfs has room for the catalogue: free some, or enlarge /dev/shm");
    }
    if (request.tier_given && stk_home_path(home_of_tier, request.tier)) {
        tiers_remember(home_of_tier);
    }
    char *library = library_path(home);
    char *paths = request_paths(&request);
    char *tiers = request_tiers(&request);
    print_export(stk_option_table[STK_OPTION_PATHS].variable, paths);
    print_export(stk_option_table[STK_OPTION_TIERS].variable, tiers);
    if (request.fresh != NULL) {
        print_export(stk_option_table[STK_OPTION_FRESH].variable, request.fresh);
    }
    if (request.samples != NULL) {
        print_export(stk_option_table[STK_OPTION_SAMPLES].variable, request.samples);
    }
    printf("export LD_PRELOAD=\"${LD_PRELOAD:+$LD_PRELOAD:}\"");
    print_quoted(library);
    printf("\n# The cache stays when the job ends. In a job script, this ends it with the job:\n"
           "#   trap 'stoker clear' EXIT\n");
    free(library);
    free(paths);
    free(tiers);
    return 0;
}
