/* A library that stands behind the other in LD_PRELOAD. Right before a file gets another name, or
 * none, it looks at BETWEEN_LOOK by the program's own stat. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void look(void)
{
    struct stat found;
    const char *path = getenv("BETWEEN_LOOK");
    if (path != NULL) {
        stat(path, &found);
    }
}

__attribute__((visibility("default"))) int rename(const char *from, const char *to)
{
    int (*next)(const char *, const char *) =
        (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
    look();
    return next(from, to);
}

__attribute__((visibility("default"))) int unlink(const char *path)
{
    int (*next)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "unlink");
    look();
    return next(path);
}
