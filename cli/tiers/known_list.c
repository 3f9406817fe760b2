#include "cli/tiers/known_list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/os/detached.h"
#include "cli/os/state_dir.h"
#include "cli/out/say.h"

/* The longest file that is read. */
#define TEXT_BYTES 32768

static bool is_listed(const struct known_list *list, const char *path)
{
    for (unsigned i = 0; i < list->count; i++) {
        if (strcmp(list->paths[i], path) == 0) {
            return true;
        }
    }
    return false;
}

void known_list_add(struct known_list *list, const struct known_kind *kind, const char *path)
{
    if (list->count < KNOWN_MOST && !is_listed(list, path) && strlen(path) < STK_HOME_BYTES &&
        kind->is_one(path)) {
        strcpy(list->paths[list->count++], path);
    }
}

static void parse(char *text, const struct known_kind *kind, struct known_list *list)
{
    char *rest = text, *line;
    while ((line = strsep(&rest, "\n")) != NULL) {
        if (line[0] == '/') {
            known_list_add(list, kind, line);
        }
    }
}

static void tell_text(void *kind, int out)
{
    static char text[TEXT_BYTES];
    state_read(((const struct known_kind *)kind)->name, text, sizeof text);
    detached_answer(out, text, sizeof text);
}

void known_list_add_remembered(struct known_list *list, const struct known_kind *kind)
{
    static char text[TEXT_BYTES];
    struct known_kind copy = *kind;
    if (!state_ask(tell_text, &copy, text, sizeof text)) {
        text[0] = '\0';
    }
    parse(text, kind, list);
}

static int write_list(const char *name, const struct known_list *list)
{
    static char text[TEXT_BYTES];
    size_t used = 0;
    for (unsigned i = 0; i < list->count && used < sizeof text; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s\n", list->paths[i]);
    }
    return state_write(name, text);
}

struct remembering {
    const struct known_kind *kind;
    const char *path;
};

static void remember(void *context, int out)
{
    static struct known_list list;
    static char text[TEXT_BYTES];
    const struct remembering *job = context;
    const char *path = job->path;
    int error = 0;
    list.count = 0;
    state_read(job->kind->name, text, sizeof text);
    parse(text, job->kind, &list);
    if (strchr(path, '\n') == NULL && strlen(path) < STK_HOME_BYTES && !is_listed(&list, path)) {
        if (list.count == KNOWN_MOST) {
            memmove(list.paths[0], list.paths[1], sizeof list.paths - sizeof list.paths[0]);
            list.count--;
        }
        strcpy(list.paths[list.count++], path);
        error = write_list(job->kind->name, &list);
    }
    detached_answer(out, &error, sizeof error);
}

void known_list_remember(const struct known_kind *kind, const char *path)
{
    int error = 0;
    struct remembering job = {kind, path};
    if (state_ask(remember, &job, &error, sizeof error) && error == -EPERM) {
        say("%s is not remembered for `stoker ls` and `stoker clear`: %s", path,
            state_reason(error));
    }
}
