/* Walks through paths component by component. */
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

bool stk_path_is_below(const char *path, const char *above)
{
    return strcmp(above, "/") == 0 || stk_path_below(path, above) != NULL;
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

bool stk_path_is_dots(const char *name)
{
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

const char *stk_path_leaf(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

bool stk_path_has_end(const char *path, const char *end)
{
    size_t length = strlen(path), end_length = strlen(end);
    return length > end_length && strcmp(path + length - end_length, end) == 0;
}

bool stk_path_is_database(const char *leaf)
{
    static const char *const ends[] = {".sqlite", ".sqlite3", ".db-wal", ".db-shm", ".db-journal"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (stk_path_has_end(leaf, ends[i])) {
            return true;
        }
    }
    return false;
}

#define LMDB_LOCK "lock.mdb"
#define LMDB_DATA "data.mdb" /* as long as LMDB_LOCK */
#define LMDB_END  "-lock"

bool stk_path_is_lmdb_lock(const char *path)
{
    const char *leaf = stk_path_leaf(path);
    return strcmp(leaf, LMDB_LOCK) == 0 || stk_path_has_end(leaf, LMDB_END);
}

bool stk_path_lmdb_data(const char *path, char *out, size_t bytes)
{
    const char *leaf = stk_path_leaf(path);
    size_t length = strlen(path);
    if (!stk_path_is_lmdb_lock(path) || length >= bytes) {
        return false;
    }
    memcpy(out, path, length + 1);
    if (strcmp(leaf, LMDB_LOCK) == 0) {
        memcpy(out + (leaf - path), LMDB_DATA, sizeof LMDB_DATA);
    } else {
        out[length - (sizeof LMDB_END - 1)] = '\0';
    }
    return true;
}
