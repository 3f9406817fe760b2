/* The process's limit on descriptors, and the ends of what was opened. */
#pragma once

#include <dirent.h>
#include <stdio.h>

/* Raises the limit as far as this user may: each file that is being filled takes three. Programs
 * that this process starts get the limit, too. */
void descriptors_raise_limit(void);

/* Opens a directory to be read from its beginning, beside its descriptor, which stays the caller's.
 * Returns NULL if that fails; else the caller closes it. */
DIR *directory_open(int directory);
/* Close what directory_open(), opendir() or fopen() has returned. They do nothing if it has failed.
 * For descriptors there is stk_sys_close_opened() (base/sys.h). */
void directory_close(DIR *directory);
void file_close(FILE *file);
