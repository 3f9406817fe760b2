/* Where the package `stoker` is. See cli/python.h. */
#include "cli/python.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/way.h"
#include "cli/say.h"

#define SITE  "site.zip"
#define CORE  "_core.abi3.so"
#define STORE "_samples_core.abi3.so"

static char *find(void)
{
    /* Where it was built; where `make install` puts it; in a Python wheel, which has us in bin/. */
    static const char *const places[] = {"%s/python/stoker/" SITE,
                                         "%s/../lib/stoker/python/stoker/" SITE, "%s/../" SITE};
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0) {
        return NULL;
    }
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char path[PATH_MAX + 64];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(path, sizeof path, places[i], program);
#pragma GCC diagnostic pop
        char *found = realpath(path, NULL);
        if (found != NULL) {
            return found;
        }
    }
    return NULL;
}

char *python_site(void)
{
    char *site = find();
    if (site != NULL && strchr(site, ':') != NULL) {
        free(site);
        site = NULL;
    }
    return site;
}

char *python_path(void)
{
    const char *before = getenv("PYTHONPATH");
    char *site = python_site();
    if (site == NULL) {
        return NULL;
    }
    if (before == NULL || *before == '\0') {
        return site;
    }
    char *both = must_format("%s:%s", site, before);
    free(site);
    return both;
}

char *python_package_path(void)
{
    char *site = find();
    char *end = site != NULL ? strstr(site, "/stoker/" SITE) : NULL;
    if (end != NULL) {
        *end = '\0';
    }
    return site;
}

static bool package_has(const char *name)
{
    char *site = find();
    if (site == NULL) {
        return false;
    }
    char *file = must_format("%.*s%s", (int)(strlen(site) - strlen(SITE)), site, name);
    bool there = access(file, R_OK) == 0;
    free(file);
    free(site);
    return there;
}

bool python_decodes(void)
{
    return package_has(CORE);
}

bool python_keeps_samples(void)
{
    return package_has(STORE);
}

static char *absolute_ones(const char *path)
{
    char *list = must_copy(path), *rest = list, *kept = must_copy("");
    for (char *directory; (directory = strsep(&rest, ":")) != NULL;) {
        if (directory[0] == '/') {
            kept = must_append(kept, "%s%s", *kept != '\0' ? ":" : "", directory);
        }
    }
    free(list);
    return kept;
}

/* Returns true if another user controls the directory of the user's own modules. */
static bool has_foreign_site(void)
{
    const char *base = getenv("PYTHONUSERBASE"), *home = getenv("HOME");
    bool named = base != NULL && *base != '\0';
    if (!named && home == NULL) {
        return false; /* Python asks the user database */
    }
    char *site = must_format("%s%s", named ? base : home, named ? "/lib" : "/.local/lib");
    int error = stk_way_check(site);
    free(site);
    return error != 0 && error != -ENOENT;
}

void python_set_apart(const char *path)
{
    char *kept = absolute_ones(path != NULL ? path : "");
    if (setenv("PYTHONPATH", kept, 1) != 0 || setenv("PYTHONSAFEPATH", "1", 1) != 0) {
        die("out of memory");
    }
    if (has_foreign_site() && setenv("PYTHONNOUSERSITE", "1", 1) != 0) {
        die("out of memory");
    }
    free(kept);
}
