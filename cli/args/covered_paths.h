/* Checks which paths may be covered, and detects them among a command's arguments. */
#pragma once

#include "cli/args/request.h"

/* Adds a path that the user named, by this flag ("--path ") or by none (""). Ends with a message if
 * the path cannot be covered. If this node cannot look at the path, it is added to `away`
 * instead. */
void paths_add(struct request *request, const char *flag, const char *path);
/* Adds the directories among the command's arguments (DIR, --x=DIR, key=DIR), except those that
 * contain the tier. One argument that this node cannot look at is added to `away`. */
void paths_detect(struct request *request);
/* Returns true if a canonical path is covered, or lies below a covered one. */
bool paths_cover(const struct request *request, const char *canonical);
/* Returns the path as STOKER_PATHS spells it. The caller frees. */
char *paths_quote(const char *path);
/* Removes slashes at the path's end, but leaves "/" as it is. */
void paths_cut_slashes(char *path);
