#include "cli/os/python.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/trusted_path.h"
#include "cli/os/own_place.h"
#include "cli/out/say.h"

#define SITE  "site.zip"
#define CORE  "_core.abi3.so"
#define STORE "_samples_core.abi3.so"

static char *find(void)
{
    /* In a build directory; as `make install` has it; in a Python wheel, where this program is in
     * bin/. */
    static const char *const places[] = {"%s/python/stoker/" SITE,
                                         "%s/../lib/stoker/python/stoker/" SITE, "%s/../" SITE};
    char program[PATH_MAX];
    return own_place_directory(program)
               ? own_place_find(program, places, sizeof places / sizeof *places)
               : NULL;
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
    OWNED char *site = find();
    if (site == NULL) {
        return false;
    }
    OWNED char *file = must_format("%.*s%s", (int)(strlen(site) - strlen(SITE)), site, name);
    return access(file, R_OK) == 0;
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
    OWNED char *site = must_format("%s%s", named ? base : home, named ? "/lib" : "/.local/lib");
    int error = stk_trusted_path_check(site);
    return error != 0 && error != -ENOENT;
}

void python_set_isolated(const char *path)
{
    OWNED char *kept = absolute_ones(path != NULL ? path : "");
    must_set("PYTHONPATH", kept);
    must_set("PYTHONSAFEPATH", "1");
    if (has_foreign_site()) {
        must_set("PYTHONNOUSERSITE", "1");
    }
}
