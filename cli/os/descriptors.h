/* The process's limit on descriptors, and directories beside their descriptors. */
#pragma once

#include <dirent.h>
#include <stdio.h>

/* Raises the limit as far as this user may: each file that is being filled takes three. Programs
 * that this process starts get the limit, too. */
void descriptors_raise_limit(void);

/* Opens a directory to be read from its beginning, beside its descriptor, which stays the caller's.
 * Returns NULL if that fails; else the caller closes it. */
DIR *directory_open(int directory);

/* Have a directory or stream closed when the block of its variable is left, as OWNED
 * (cli/out/say.h) does with memory, and STK_OWNED_FD (base/sys.h) with descriptors. They stand in
 * front of a declaration: OWNED_DIR DIR *names = opendir(path). NULL is left alone. */
#define OWNED_DIR  __attribute__((cleanup(owned_close_directory)))
#define OWNED_FILE __attribute__((cleanup(owned_close_file)))
void owned_close_directory(DIR *const *directory);
void owned_close_file(FILE *const *file);
