#include "cli/args/request_env.h"

#include <string.h>

#include "base/options.h"
#include "cli/args/covered_paths.h"
#include "cli/args/request_tiers.h"
#include "cli/out/say.h"

static void append_path(char **list, const char *path)
{
    OWNED char *quoted = paths_quote(path);
    *list = must_append(*list, "%s%s", **list != '\0' ? ":" : "", quoted);
}

char *request_paths(const struct request *request)
{
    char *list = must_copy("");
    for (unsigned i = 0; i < request->count; i++) {
        append_path(&list, request->spelled[i]);
        if (strcmp(request->spelled[i], request->canonical[i]) != 0) {
            append_path(&list, request->canonical[i]);
        }
    }
    return list;
}

void request_set(enum stk_option option, const char *value)
{
    must_set(stk_option_table[option].variable, value);
}

/* Puts the value of `before` in front of a list: PATH[:PATH]... */
static void put_before(enum stk_option list, enum stk_option before)
{
    const char *value = stk_option_value(list);
    const char *first = stk_option_value(before);
    if (first != NULL) {
        OWNED char *both = must_format("%s:%s", first, value != NULL ? value : "");
        request_set(list, both);
    }
}

/* Exports the paths and names of the runs around this one, to which processes report changes. */
static void export_outer(void)
{
    if (stk_option_value(STK_OPTION_RUN) != NULL) {
        put_before(STK_OPTION_OUTER_PATHS, STK_OPTION_PATHS);
        put_before(STK_OPTION_OUTER_RUNS, STK_OPTION_RUN);
    }
}

void request_export(const struct request *request, const char *run)
{
    OWNED char *paths = request_paths(request), *tiers = request_tiers(request);
    export_outer();
    request_set(STK_OPTION_PATHS, paths);
    request_set(STK_OPTION_TIERS, tiers);
    request_set(STK_OPTION_RUN, run);
    if (request->fresh != NULL) {
        request_set(STK_OPTION_FRESH, request->fresh);
    }
    if (request->files_left != NULL) {
        request_set(STK_OPTION_FILES, "off");
    }
}
