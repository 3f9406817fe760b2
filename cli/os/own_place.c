#include "cli/os/own_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool own_place_directory(char out[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", out, PATH_MAX - 1);
    if (length <= 0) {
        return false;
    }
    out[length] = '\0';
    *strrchr(out, '/') = '\0';
    return true;
}

char *own_place_find(const char *directory, const char *const *places, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        char path[PATH_MAX + 64];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(path, sizeof path, places[i], directory);
#pragma GCC diagnostic pop
        char *found = realpath(path, NULL);
        if (found != NULL) {
            return found;
        }
    }
    return NULL;
}
