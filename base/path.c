/* Lexical path handling. See base/path.h. */
#include "base/path.h"

#include <string.h>

/* Skips slashes and "." components; `path` points at a slash or at the start of a component. */
static const char *skip_nothing(const char *path)
{
    while (*path == '/' || (path[0] == '.' && (path[1] == '/' || path[1] == '\0'))) {
        path++;
    }
    return path;
}

const char *stk_path_below(const char *path, const char *root)
{
    if (*path != '/') {
        return NULL;
    }
    while (*root == '/') {
        path = skip_nothing(path);
        root++;
        while (*root != '/' && *root != '\0') {
            if (*path++ != *root++) {
                return NULL;
            }
        }
        if (*path != '/' && *path != '\0') {
            return NULL;
        }
    }
    return skip_nothing(path);
}

static bool is_parent_component(const char *component)
{
    return component[0] == '.' && component[1] == '.' &&
           (component[2] == '/' || component[2] == '\0');
}

long stk_path_fold(const char *path, char *out, size_t bytes)
{
    size_t used = 0;
    path = skip_nothing(path);
    while (*path != '\0') {
        size_t length = strcspn(path, "/");
        if (is_parent_component(path) || used + length + 2 > bytes) {
            return -1;
        }
        memmove(out + used, path, length);
        used += length;
        path += length;
        const char *next = skip_nothing(path);
        if (*path == '/' && *next == '\0') {
            return -1; /* "x/" and "x/." ask for a directory */
        }
        if (*next != '\0') {
            out[used++] = '/';
        }
        path = next;
    }
    if (used == 0) {
        return -1;
    }
    out[used] = '\0';
    return (long)used;
}

const char *stk_path_leaf(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

bool stk_path_is_database(const char *leaf)
{
    static const char *const ends[] = {".sqlite", ".sqlite3", ".db-wal", ".db-shm", ".db-journal"};
    size_t length = strlen(leaf);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t end = strlen(ends[i]);
        if (length > end && strcmp(leaf + length - end, ends[i]) == 0) {
            return true;
        }
    }
    return false;
}
