/* Which paths may be covered, and finding them among a command's arguments. */
#ifndef STK_CLI_PATHS_H
#define STK_CLI_PATHS_H

#include <stdbool.h>

#include "cli/request.h"

/* Adds a path that the user named, by this flag ("--path ") or by none (""); ends with a message
 * when it cannot be covered. A path that this node cannot look at is added to `away` instead. */
void paths_add(struct request *request, const char *flag, const char *path);
/* Adds the directories named among the command's arguments: DIR, --x=DIR, key=DIR; not those that
 * hold the tier. One argument that this node cannot look at is added to `away`. */
void paths_detect(struct request *request);
/* As one path is written in STOKER_PATHS; the caller frees. */
char *paths_quote(const char *path);
/* Takes away slashes at its end; of "/" one stays. */
void paths_cut_slashes(char *path);
/* Whether `path` is `above` or lies below it; both canonical. */
bool paths_is_below(const char *path, const char *above);

#endif
