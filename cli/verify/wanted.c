#include "cli/verify/wanted.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "cli/out/flag.h"
#include "cli/out/say.h"

static void take_sample(struct wanted *wanted, const char *value)
{
    char *end;
    double number = strtod(value, &end);
    bool percent = strcmp(end, "%") == 0;
    if (end == value || (!percent && *end != '\0') || !(number > 0) || number > 1e15 ||
        (percent && number > 100) || (!percent && number != (double)(uint64_t)number)) {
        die("--sample %s: write how many copies, such as 1000, or which part, such as 10%%", value);
    }
    wanted->part = percent ? number / 100 : -1;
    wanted->sample = percent ? UINT64_MAX : (uint64_t)number;
}

static void take_path(struct wanted *wanted, const char *path)
{
    char *canonical = realpath(path, NULL);
    if (canonical == NULL && path[0] != '/') {
        die("verify %s: no such file or directory: name a data set's path", path);
    }
    if (wanted->count == WANTED_MOST_PATHS) {
        die("verify: more than %d paths: name a directory above them", WANTED_MOST_PATHS);
    }
    wanted->paths[wanted->count++] = canonical != NULL ? canonical : must_copy(path);
}

static const char *value_of(char ***at, const char *flag)
{
    const char *value = flag_value(at, flag);
    if (value != NULL && *value == '\0') {
        die_wrong("%s needs a value", flag);
    }
    return value;
}

void wanted_parse(struct wanted *wanted, char **arguments)
{
    const char *value;
    *wanted = (struct wanted){.part = -1, .sample = UINT64_MAX};
    for (char **at = arguments; *at != NULL; at++) {
        if ((value = value_of(&at, "--tier")) != NULL) {
            wanted->tier = value;
        } else if ((value = value_of(&at, "--sample")) != NULL) {
            take_sample(wanted, value);
        } else if ((value = value_of(&at, "--json")) != NULL) {
            wanted->json = value;
        } else if ((*at)[0] == '-') {
            die_of_option(*at, "");
        } else {
            take_path(wanted, *at);
        }
    }
}

bool wanted_has(const struct wanted *wanted, const char *origin)
{
    bool any = wanted->count == 0;
    for (unsigned i = 0; i < wanted->count && !any; i++) {
        any = stk_path_is_below(origin, wanted->paths[i]);
    }
    return any;
}
