/* Reading through fopen and freopen. Changes nothing. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/preload/symbols/shared/frame.h"
#include "tests/preload/symbols/shared/paths.h"
#include "tests/preload/symbols/shared/show.h"

typedef FILE *opener(const char *, const char *);
typedef FILE *reopener(const char *, const char *, FILE *);

static const char *const openers[] = {"fopen", "fopen64"};
static const char *const reopeners[] = {"freopen", "freopen64"};
static const char *const modes[] = {"r",  "rb", "re",          "rbe",        "rm",
                                    "rc", "rx", "r,ccs=UTF-8", "r,",         "",
                                    "z",  "br", "r ",          "rbbbbbbbbe", "r,ccs=euc"};
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The content as stdio reads it, in pieces, with a step back. */
static void show_stream(FILE *file)
{
    char piece[1000];
    unsigned sum = 0, bytes = 0;
    size_t got;
    printf("  fd %d flags %o fdflags %d\n", fileno(file), fcntl(fileno(file), F_GETFL),
           fcntl(fileno(file), F_GETFD));
    while ((got = fread(piece, 1, sizeof piece, file)) > 0) {
        for (size_t i = 0; i < got; i++) {
            sum = sum * 31 + (unsigned char)piece[i];
        }
        bytes += (unsigned)got;
    }
    printf("  read %u sum %08x at %ld eof %d error %d\n", bytes, sum, ftell(file), feof(file) != 0,
           ferror(file) != 0);
    printf("  seek %d next %d\n", fseek(file, -3, SEEK_END), fgetc(file));
}

static void try_open(const char *name, const char *path, const char *mode)
{
    char label[8192];
    opener *function = (opener *)symbol(name);
    snprintf(label, sizeof label, "%s(%s, %s)", name, path, mode);
    errno = SENTINEL;
    FILE *file = function(path, mode);
    show_result(label, file != NULL, errno);
    if (file != NULL) {
        show_stream(file);
        fclose(file);
    }
}

/* A stream that has read something else before. */
static void try_reopen_from(const char *name, const char *from, const char *first, const char *path,
                            const char *mode)
{
    char label[8192];
    reopener *function = (reopener *)symbol(name);
    FILE *file = fopen(from, first);
    if (file == NULL) {
        return;
    }
    int fd = fileno(file);
    fgetc(file);
    snprintf(label, sizeof label, "%s(%s, %s) from %s", name, path ? path : "NULL", mode, from);
    errno = SENTINEL;
    FILE *again = function(path, mode, file);
    show_result(label, again != NULL, errno);
    if (again != NULL) {
        show_stream(again);
        fclose(again);
    }
    printf("  fd %d closed %d\n", fd, fcntl(fd, F_GETFD));
}

static void try_reopen(const char *name, const char *from, const char *path, const char *mode)
{
    try_reopen_from(name, from, "r", path, mode);
}

/* libc's stream stays closed on exec if it was so before. An 'e' behind a comma is none. */
static void fill_and_hit(void)
{
    char path[64];
    for (unsigned i = 0; i < COUNT(openers); i++) {
        snprintf(path, sizeof path, "own/%u", 30 + i);
        try_open(openers[i], path, "re");
        try_open(openers[i], path, "r");
        snprintf(path, sizeof path, "own/%u", 34 + i);
        try_reopen(reopeners[i], "../other/o.txt", path, "r");
        try_reopen(reopeners[i], "../other/o.txt", path, "re");
        snprintf(path, sizeof path, "own/%u", 36 + i);
        try_reopen_from(reopeners[i], "../other/o.txt", "re", path, "r");
        try_reopen_from(reopeners[i], "../other/o.txt", "re", path, "r");
        snprintf(path, sizeof path, "own/%u", 38 + i);
        try_open(openers[i], path, "r,ccs=utf-16le");
    }
}

void body(void)
{
    static const char *const starts[] = {"../other/o.txt", "a.bin", "sub/b.bin"};
    fill_and_hit();
    for (unsigned i = 0; i < interesting_count; i++) {
        for (unsigned j = 0; j < COUNT(openers); j++) {
            try_open(openers[j], interesting_paths[i], "r");
            try_open(openers[j], absolute_path(interesting_paths[i]), "rbe");
            try_reopen(reopeners[j], starts[i % 3], interesting_paths[i], "r");
            try_reopen(reopeners[j], starts[(i + 1) % 3], absolute_path(interesting_paths[i]), "r");
        }
    }
    for (unsigned i = 0; i < COUNT(modes); i++) {
        for (unsigned j = 0; j < COUNT(openers); j++) {
            try_open(openers[j], "a.bin", modes[i]);
            try_reopen(reopeners[j], starts[j], "a.bin", modes[i]);
            try_reopen(reopeners[j], starts[j], NULL, modes[i]);
        }
    }
}
