/* The paths that `stoker warm` is to fill, as they are typed or listed in a file. */
#pragma once

#include <stdbool.h>

/* Zeroed: empty. Lasts as long as the process. */
struct path_list {
    unsigned count, room;
    char **paths;
    bool listed; /* some were read from a file */
};

/* Adds a path, which is copied. */
void path_list_add(struct path_list *list, const char *path);
/* Adds the lines of a file, or of standard input if its name is "-". Ends with a message if it
 * cannot be read. */
void path_list_read(struct path_list *list, const char *file);
