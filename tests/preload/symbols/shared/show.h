/*
 * Prints what calls returned: result, errno, the state of a descriptor, the fields of stat. The
 * form is the same for two runs over equal data. Files are named by the order in which they were
 * first seen instead of inode numbers. Times that the program itself caused are "now". With
 * SHOW_EXACT in the environment (for programs that change nothing) everything is printed as it is.
 *
 * Nothing here calls a symbol of preload/interpose/symbols.def but those that it shows.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

void show_begin(const char *base);
/* Prints the names of all symbols that were asked for, for the test that none is left out. */
void show_end(void);

/* The symbol as the program's own call would find it; ends the program if libc has none. */
void *symbol(const char *name);

/* The errno before each call: a call that succeeds must leave it. */
enum { SENTINEL = 4242 };

/* "LABEL = RESULT ERRNO". */
void show_result(const char *label, long result, int error);
#define SHOW(label, call)                                                                          \
    do {                                                                                           \
        errno = SENTINEL;                                                                          \
        long shown = (long)(call);                                                                 \
        show_result(label, shown, errno);                                                          \
    } while (0)

void show_stat(const struct stat *stat);
void show_statx(const struct statx *statx, unsigned asked);

/* Number, flags, offset, stat and content of a fresh descriptor. */
void show_fd(int fd);
void show_content(int fd);
/* Shows everything a reader can learn of a path: stat, lstat, access, open. Twice, since the first
 * answer may be remembered for the second. */
void show_path(const char *path);
