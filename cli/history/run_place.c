#include "cli/history/run_place.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "cli/out/say.h"

/* Returns the terminal and its session: terminals' names are used again. "" without a terminal. The
 * caller frees. */
static char *terminal(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        const char *name = isatty(fd) ? ttyname(fd) : NULL;
        if (name != NULL) {
            return must_format("%s of %d", name, (int)getsid(0));
        }
    }
    return must_copy("");
}

char *run_place(void)
{
    OWNED char *tty = terminal(), *directory = getcwd(NULL, 0);
    return must_format("%s\n%s", tty, directory != NULL ? directory : "");
}

/* Returns how near a run was begun: 0 on this terminal, 1 in this directory, 2 elsewhere. */
static int distance(const char *place, const char *here)
{
    const char *line = strchr(here, '\n'), *other = place != NULL ? strchr(place, '\n') : NULL;
    if (other == NULL) {
        return 2;
    }
    size_t length = (size_t)(line - here);
    bool same_terminal =
        length > 0 && (size_t)(other - place) == length && memcmp(place, here, length) == 0;
    return same_terminal ? 0 : strcmp(line, other) == 0 ? 1 : 2;
}

void run_place_sort(struct history_list *list)
{
    OWNED char *here = run_place();
    char *sorted[HISTORY_MOST] = {NULL};
    int distances[HISTORY_MOST];
    unsigned count = 0;
    for (unsigned i = 0; i < list->count; i++) {
        OWNED char *place = history_read(list->names[i], HISTORY_PLACE);
        distances[i] = distance(place, here);
    }
    for (int wanted = 0; wanted <= 2; wanted++) {
        for (unsigned i = 0; i < list->count; i++) {
            if (distances[i] == wanted) {
                sorted[count++] = list->names[i];
            }
        }
    }
    memcpy(list->names, sorted, count * sizeof *sorted);
}
