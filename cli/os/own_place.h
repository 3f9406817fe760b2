/* Files of Stoker's that lie near this program: in a build directory, installed, or in a Python
 * wheel. */
#pragma once

#include <limits.h>
#include <stdbool.h>

/* Finds the directory of this program. Returns false if /proc is not mounted. */
bool own_place_directory(char out[PATH_MAX]);

/* Returns the canonical path of the first place that exists, or NULL. A place is a format with one
 * %s, for `directory`. The caller frees. */
char *own_place_find(const char *directory, const char *const *places, unsigned count);
