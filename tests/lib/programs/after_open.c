/* A library that stands behind the other in LD_PRELOAD. After the first open, it runs the command
 * in AFTER_OPEN, before the open returns. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((visibility("default"))) int open64(const char *path, int flags, ...)
{
    int (*next)(const char *, int, ...) =
        (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open64");
    int fd = next(path, flags); /* without O_CREAT */
    char *command = getenv("AFTER_OPEN");
    if (command != NULL && strstr(path, "/file") != NULL) {
        command = strdup(command);
        unsetenv("AFTER_OPEN");
        fd = system(command) == 0 ? fd : -1;
        free(command);
    }
    return fd;
}
