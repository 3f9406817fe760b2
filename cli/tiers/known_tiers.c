#include "cli/tiers/known_tiers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "cli/os/detached.h"
#include "cli/os/state_dir.h"
#include "cli/out/say.h"

#define NAME       "tiers"
#define MOST_TIERS 64

/* ---- the list ---- */

/* The remembered homes that still exist. */
struct list {
    unsigned count;
    char homes[MOST_TIERS][STK_HOME_BYTES];
};

static bool is_listed(const struct list *list, const char *home)
{
    for (unsigned i = 0; i < list->count; i++) {
        if (strcmp(list->homes[i], home) == 0) {
            return true;
        }
    }
    return false;
}

static void add(struct list *list, const char *home)
{
    if (list->count < MOST_TIERS && !is_listed(list, home) && strlen(home) < STK_HOME_BYTES &&
        stk_home_check(home) == 0) {
        strcpy(list->homes[list->count++], home);
    }
}

/* The longest file that is read. */
#define TEXT_BYTES 32768

/* Parses the file. A line may be cut, or forged: a path that is no home of this user is skipped. */
static void parse(char *text, struct list *list)
{
    char *rest = text, *line;
    list->count = 0;
    while ((line = strsep(&rest, "\n")) != NULL) {
        if (line[0] == '/' && stk_home_is_name(stk_path_leaf(line))) {
            add(list, line);
        }
    }
}

static void tell_text(void *unused, int out)
{
    static char text[TEXT_BYTES];
    (void)unused;
    state_read(NAME, text, sizeof text);
    detached_answer(out, text, sizeof text);
}

static void read_list(struct list *list)
{
    static char text[TEXT_BYTES];
    if (!state_ask(tell_text, NULL, text, sizeof text)) {
        text[0] = '\0';
    }
    parse(text, list);
}

static int write_list(const struct list *list)
{
    static char text[TEXT_BYTES];
    size_t used = 0;
    for (unsigned i = 0; i < list->count && used < sizeof text; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s\n", list->homes[i]);
    }
    return state_write(NAME, text);
}

static void remember(void *context, int out)
{
    static struct list list;
    static char text[TEXT_BYTES];
    const char *home = context;
    int error = 0;
    state_read(NAME, text, sizeof text);
    parse(text, &list);
    if (strchr(home, '\n') == NULL && strlen(home) < STK_HOME_BYTES && !is_listed(&list, home)) {
        if (list.count == MOST_TIERS) {
            memmove(list.homes[0], list.homes[1], sizeof list.homes - sizeof list.homes[0]);
            list.count--;
        }
        strcpy(list.homes[list.count++], home); /* it may not exist yet */
        error = write_list(&list);
    }
    detached_answer(out, &error, sizeof error);
}

void tiers_remember(const char *home)
{
    int error = 0;
    char *copy = must_copy(home);
    if (state_ask(remember, copy, &error, sizeof error) && error == -EPERM) {
        say("%s is not remembered for `stoker ls` and `stoker clear`, which find it by --tier: %s",
            home, state_reason(error));
    }
    free(copy);
}

/* ---- walking ---- */

/* Finds the tier with this home; the catalogue may know it or not. */
static void find(const struct tiers *tiers, const char *home, struct stk_tier *out)
{
    *out = (struct stk_tier){.shared = NULL};
    for (unsigned i = 0; tiers->catalogue != NULL && i < STK_TIERS; i++) {
        struct stk_tier known = {.shared = NULL};
        if (stk_tier_by_index(tiers->catalogue, i, &known) && strcmp(known.home, home) == 0) {
            *out = known;
        }
    }
    snprintf(out->home, sizeof out->home, "%s", home);
}

static void add_known(const struct tiers *tiers, struct list *list)
{
    for (unsigned i = 0; tiers->catalogue != NULL && i < STK_TIERS; i++) {
        struct stk_tier tier;
        if (stk_tier_by_index(tiers->catalogue, i, &tier)) {
            add(list, tier.home);
        }
    }
}

static void add_named(const char *directory, struct list *list)
{
    char home[STK_HOME_BYTES];
    char *canonical = realpath(directory, NULL);
    if (canonical == NULL) {
        die("--tier %s: %s: name a directory that is there", directory, strerror(errno));
    }
    if (stk_home_path(home, canonical)) {
        add(list, home);
    }
    free(canonical);
}

void tiers_each(const struct tiers *tiers, void (*visit)(struct stk_tier *tier, void *context),
                void *context)
{
    static struct list list, remembered;
    struct stk_tier tier;
    list.count = 0;
    if (tiers->only != NULL) {
        add_named(tiers->only, &list);
    } else {
        add_known(tiers, &list);
        read_list(&remembered);
        for (unsigned i = 0; i < remembered.count; i++) {
            add(&list, remembered.homes[i]);
        }
    }
    for (unsigned i = 0; i < list.count; i++) {
        find(tiers, list.homes[i], &tier);
        visit(&tier, context);
    }
}

const char *tiers_option(char ***arguments)
{
    const char *first = **arguments;
    if (first == NULL || strncmp(first, "--tier", 6) != 0 ||
        (first[6] != '\0' && first[6] != '=')) {
        return NULL;
    }
    const char *value = first[6] == '=' ? first + 7 : (*arguments)[1];
    if (value == NULL || *value == '\0') {
        die_wrong("--tier needs a directory");
    }
    *arguments += first[6] == '=' ? 1 : 2;
    return value;
}
