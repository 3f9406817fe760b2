/* access, faccessat, euidaccess, eaccess. Changes nothing. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/preload/symbols/shared/frame.h"
#include "tests/preload/symbols/shared/paths.h"
#include "tests/preload/symbols/shared/show.h"

static const char *const names[] = {"access", "euidaccess", "eaccess"};
static const int modes[] = {F_OK, R_OK, W_OK, X_OK, R_OK | W_OK, R_OK | X_OK, 8, -1};
static const int flag_sets[] = {
    0,         AT_EACCESS, AT_SYMLINK_NOFOLLOW, AT_EACCESS | AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH,
    0x40000000};
#define COUNT(array) (sizeof(array) / sizeof *(array))

static void try(const char *name, const char *path, int mode)
{
    char label[8192];
    int (*function)(const char *, int) = (int (*)(const char *, int))symbol(name);
    snprintf(label, sizeof label, "%s(%s, %d)", name, path ? path : "NULL", mode);
    SHOW(label, function(path, mode));
}

static void try_at(int dirfd, const char *path, int mode, int flags)
{
    char label[8192];
    int (*function)(int, const char *, int, int) =
        (int (*)(int, const char *, int, int))symbol("faccessat");
    snprintf(label, sizeof label, "faccessat(%d, %s, %d, %x)", dirfd, path ? path : "NULL", mode,
             (unsigned)flags);
    SHOW(label, function(dirfd, path, mode, flags));
}

static void one_path(const char *path)
{
    for (unsigned i = 0; i < COUNT(modes); i++) {
        for (unsigned j = 0; j < COUNT(names); j++) {
            try(names[j], path, modes[i]);
        }
        for (unsigned j = 0; j < COUNT(flag_sets); j++) {
            try_at(AT_FDCWD, path, modes[i], flag_sets[j]);
        }
    }
}

void body(void)
{
    int sub = open("sub", O_RDONLY), file = open("a.bin", O_RDONLY);
    for (unsigned i = 0; i < interesting_count; i++) {
        one_path(interesting_paths[i]);
        show_path(interesting_paths[i]); /* known from here on */
        one_path(interesting_paths[i]);
        one_path(absolute_path(interesting_paths[i]));
    }
    one_path(NULL);
    for (unsigned i = 0; i < COUNT(modes); i++) {
        try_at(sub, "b.bin", modes[i], 0);
        try_at(sub, "../a.bin", modes[i], AT_EACCESS);
        try_at(file, "", modes[i], AT_EMPTY_PATH);
        try_at(file, "x", modes[i], 0);
        try_at(-1, "b.bin", modes[i], 0);
    }
    close(sub);
    close(file);
}
