#include "cli/args/path_list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/out/say.h"

void path_list_add(struct path_list *list, const char *path)
{
    if (list->count == list->room) {
        list->room = list->room > 0 ? 2 * list->room : 64;
        list->paths = must_resize(list->paths, list->room * sizeof *list->paths);
    }
    list->paths[list->count++] = must_copy(path);
}

void path_list_read(struct path_list *list, const char *file)
{
    FILE *in = strcmp(file, "-") == 0 ? stdin : fopen(file, "re");
    OWNED char *line = NULL;
    size_t room = 0;
    if (in == NULL) {
        die("-f %s: %s: name a file with a path on each line, or -", file, strerror(errno));
    }
    while (getline(&line, &room, in) >= 0) {
        line[strcspn(line, "\n")] = '\0';
        if (*line != '\0') {
            path_list_add(list, line);
        }
    }
    list->listed = true;
    if (in != stdin) {
        fclose(in);
    }
}
