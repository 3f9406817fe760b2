#include "cli/os/library.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "cli/os/own_place.h"
#include "cli/out/say.h"

#define LIBRARY "libstoker.so"

static char *beside(const char *directory)
{
    static const char *const places[] = {"%s/" LIBRARY, "%s/../lib/" LIBRARY,
                                         "%s/../lib64/" LIBRARY, "%s/../lib/stoker/" LIBRARY};
    return own_place_find(directory, places, sizeof places / sizeof *places);
}

char *library_find(void)
{
    char here[PATH_MAX];
    return own_place_directory(here) ? beside(here) : NULL;
}

static char *must_find(void)
{
    char here[PATH_MAX];
    if (!own_place_directory(here)) {
        die("/proc is not mounted: %s cannot be found", LIBRARY);
    }
    char *found = beside(here);
    if (found == NULL) {
        die("%s is neither in %s nor in its ../lib: build or install it again", LIBRARY, here);
    }
    return found;
}

/* Returns a link to the library without blanks and colons in its path, in our own directory. */
static char *link_to(const char *library, const char *home)
{
    OWNED char *directory = must_format("%s/lib", home);
    char *link = must_format("%s/%016llx-" LIBRARY, directory,
                             (unsigned long long)stk_hash_64(library, strlen(library), 0));
    if ((mkdir(directory, 0700) != 0 && errno != EEXIST) ||
        (symlink(library, link) != 0 && errno != EEXIST)) {
        die("%s: %s: no link can be made to %s, whose path LD_PRELOAD cannot hold", link,
            strerror(errno), library);
    }
    return link;
}

char *library_path(const char *home)
{
    char *library = must_find();
    if (strpbrk(library, " :") == NULL) {
        return library;
    }
    char *link = link_to(library, home);
    free(library);
    return link;
}

static int is_listed(const char *list, const char *library)
{
    size_t length = strlen(library);
    for (const char *at = strstr(list, library); at != NULL; at = strstr(at + 1, library)) {
        int starts = at == list || at[-1] == ':' || at[-1] == ' ';
        if (starts && (at[length] == '\0' || at[length] == ':' || at[length] == ' ')) {
            return 1;
        }
    }
    return 0;
}

char *library_preload(const char *library)
{
    const char *before = getenv("LD_PRELOAD");
    if (before == NULL || *before == '\0') {
        return must_copy(library);
    }
    return is_listed(before, library) ? must_copy(before) : must_format("%s:%s", before, library);
}
