/* Names of files, directories and links, in the covered directory and beside it. */
#include "tests/preload/symbols/shared/paths.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TEN(x) x x x x x x x x x x

const char *const interesting_paths[] = {
    /* files, spelled in every way */
    "a.bin",
    "./a.bin",
    ".//a.bin",
    "sub/b.bin",
    "sub//b.bin",
    "sub/./b.bin",
    "sub/deep/c.bin",
    "sub/../a.bin",
    "../data/a.bin",
    "sub/deep/../../a.bin",
    "dirlink/../a.bin",
    "a.bin/",
    "a.bin/.",
    "a.bin/..",
    "a.bin/x",
    TEN(TEN("./")) "a.bin",
    /* kinds of files */
    "empty",
    "private",
    "forbidden",
    "database",
    "old",
    "hard1",
    "hard2",
    "with space",
    "semi;colon",
    "sparse",
    TEN(TEN("n") TEN("a")) "me",
    TEN(TEN("n") TEN("a")) TEN("longs") "me",
    "fresh/.hidden",
    /* links */
    "link",
    "link/",
    "dangling",
    "loop",
    "dirlink",
    "dirlink/",
    "dirlink/b.bin",
    "outward",
    "outwarddir/o.txt",
    /* directories */
    "",
    ".",
    "..",
    "sub",
    "sub/",
    "sub/.",
    "sub/deep/..",
    /* not there */
    "missing",
    "missing/x",
    "sub/missing",
    /* beside the covered directory */
    "../other/o.txt",
    "../other/inward/a.bin",
    "../data2/a.bin",
    "../nothing",
};
const unsigned interesting_count = sizeof interesting_paths / sizeof *interesting_paths;

static __thread char buffer[PATH_MAX * 2];

const char *absolute_path(const char *path)
{
    if (getcwd(buffer, PATH_MAX) == NULL) {
        return "?";
    }
    size_t used = strlen(buffer);
    snprintf(buffer + used, sizeof buffer - used, "/%s", path);
    return buffer;
}

const char *path_in_base(const char *path)
{
    char relative[PATH_MAX];
    snprintf(relative, sizeof relative, "%s", path);
    absolute_path("");
    char *data = strstr(buffer, "/data/");
    if (data == NULL) {
        return "?";
    }
    snprintf(data, sizeof buffer - (size_t)(data - buffer), "/%s", relative);
    return buffer;
}
