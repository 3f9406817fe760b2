/* truncate, rename, unlink, remove, rmdir, link and their kin, on files whose all is known. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/preload/symbols/shared/frame.h"
#include "tests/preload/symbols/shared/paths.h"
#include "tests/preload/symbols/shared/pool.h"
#include "tests/preload/symbols/shared/show.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef int one_path(const char *);
typedef int two_paths(const char *, const char *);
typedef int two_dirs(int, const char *, int, const char *);
typedef int two_dirs_flags(int, const char *, int, const char *, unsigned);

/* Names by which a change may come: plain, "..", and through a linked directory. */
static const char *const ways[] = {"pool", "sub/../pool", "poollink"};

static void truncating(const char *name)
{
    int (*function)(const char *, off_t) = (int (*)(const char *, off_t))symbol(name);
    static const char *const names[] = {"pool", "sub/../pool", "poollink", "sym", "hard"};
    for (unsigned i = 0; i < COUNT(names); i++) {
        unsigned number = pool_next();
        SHOW(name, function(pool_path(names[i], number), 1234));
        pool_look(number);
    }
    SHOW(name, function("missing", 1));
    SHOW(name, function("sub", 1));
    SHOW(name, function(NULL, 1));
    unsigned number = pool_next();
    SHOW(name, function(pool_path("pool", number), -1));
    pool_look(number);
}

static void removing(const char *name)
{
    one_path *function = (one_path *)symbol(name);
    for (unsigned i = 0; i < COUNT(ways); i++) {
        unsigned number = pool_next();
        SHOW(name, function(pool_path(ways[i], number)));
        pool_look(number);
    }
    unsigned number = pool_next();
    SHOW(name, function(pool_path("sym", number)));
    pool_look(number);
    SHOW(name, function("missing"));
    SHOW(name, function("sub"));
    SHOW(name, function("a.bin/"));
    SHOW(name, function(NULL));
    show_path("a.bin");
}

static void removing_at(void)
{
    int (*function)(int, const char *, int) = (int (*)(int, const char *, int))symbol("unlinkat");
    char name[16];
    unsigned number = pool_next();
    int pool = open("pool", O_RDONLY | O_DIRECTORY);
    snprintf(name, sizeof name, "%u", number);
    SHOW("unlinkat", function(pool, name, AT_REMOVEDIR));
    pool_look(number);
    SHOW("unlinkat", function(pool, name, 0));
    pool_look(number);
    SHOW("unlinkat", function(-1, name, 0));
    SHOW("unlinkat", function(pool, NULL, 0));
    close(pool);
}

static void removing_directories(void)
{
    one_path *function = (one_path *)symbol("rmdir");
    show_path("gone/x");
    pool_pin("gone/x");
    SHOW("rmdir", function("gone"));
    unlink("gone/x");
    SHOW("rmdir", function("gone"));
    show_path("gone/x");
    SHOW("rmdir", function("a.bin"));
    SHOW("rmdir", function(NULL));
}

/* ---- two names ---- */

static int call_two(const char *name, const char *from, const char *to)
{
    void *function = symbol(name);
    if (name[strlen(name) - 1] == '2') {
        return ((two_dirs_flags *)function)(AT_FDCWD, from, AT_FDCWD, to, 0);
    }
    if (name[strlen(name) - 1] == 't') {
        return ((two_dirs *)function)(AT_FDCWD, from, AT_FDCWD, to);
    }
    return ((two_paths *)function)(from, to);
}

static void renaming(const char *name)
{
    for (unsigned i = 0; i < COUNT(ways); i++) {
        unsigned from = pool_next(), to = pool_next();
        SHOW(name, call_two(name, pool_path(ways[i], from), pool_path("pool", to)));
        pool_look(from);
        pool_look(to);
        from = pool_next();
        SHOW(name, call_two(name, pool_path("pool", to), pool_path(ways[i], from)));
        pool_look(from);
        pool_look(to);
    }
    unsigned odd = pool_next();
    SHOW(name, call_two(name, pool_path("sym", odd), pool_path("pool", odd)));
    pool_look(odd);
    SHOW(name, call_two(name, "missing", "a.bin"));
    SHOW(name, call_two(name, "sub", "a.bin"));
    SHOW(name, call_two(name, NULL, "a.bin"));
    SHOW(name, call_two(name, "a.bin", NULL));
    show_path("a.bin");
}

/* A directory, or the link to one, takes other files along. */
static void renaming_directories(const char *name)
{
    show_path("move/x");
    show_path("other/x");
    show_path("turn/x");
    SHOW(name, call_two(name, "move", "moved"));
    show_path("move/x");
    show_path("moved/x");
    SHOW(name, call_two(name, "other", "move"));
    show_path("move/x");
    show_path("other/x");
    SHOW(name, call_two(name, "turn2", "turn"));
    show_path("turn/x");
    SHOW(name, call_two(name, "turn", "turn2"));
    SHOW(name, call_two(name, "move", "other"));
    SHOW(name, call_two(name, "moved", "move"));
    SHOW("symlink", symlink("other", "turn"));
    show_path("turn/x");
    show_path("move/x");
    pool_pin("turn");
    pool_pin("turn2");
    SHOW("unlink", unlink("turn"));
    SHOW("unlink", unlink("turn2"));
    SHOW("symlink", symlink("move", "turn") | symlink("other", "turn2"));
    show_path("turn/x");
}

static void exchanging(void)
{
    two_dirs_flags *function = (two_dirs_flags *)symbol("renameat2");
    unsigned from = pool_next(), to = pool_next();
    for (unsigned flags = 1; flags <= 3; flags++) { /* NOREPLACE, EXCHANGE, both */
        SHOW("renameat2",
             function(AT_FDCWD, pool_path("pool", from), AT_FDCWD, pool_path("pool", to), flags));
        pool_look(from);
        pool_look(to);
    }
    SHOW("renameat2", function(AT_FDCWD, "move", AT_FDCWD, "other", 2));
    show_path("move/x");
    show_path("other/x");
}

static void linking(void)
{
    two_paths *function = (two_paths *)symbol("link");
    two_dirs_flags *at = (two_dirs_flags *)symbol("linkat");
    char name[16];
    unsigned number = pool_next();
    int pool = open("pool", O_RDONLY | O_DIRECTORY);
    SHOW("link", function(pool_path("pool", number), "newlink"));
    show_path("newlink");
    pool_look(number);
    SHOW("link", function(pool_path("pool", number), "newlink"));
    SHOW("link", function("missing", "newlink2"));
    SHOW("link", function(NULL, "newlink2"));
    number = pool_next();
    snprintf(name, sizeof name, "%u", number);
    SHOW("linkat", at(pool, name, AT_FDCWD, "newlink3", 0));
    show_path("newlink3");
    pool_look(number);
    SHOW("linkat", at(AT_FDCWD, "sym/1", AT_FDCWD, "newlink4", AT_SYMLINK_FOLLOW));
    show_path("newlink4");
    SHOW("linkat", at(pool, name, AT_FDCWD, "newlink5", 0x40000000));
    close(pool);
    unlink("newlink");
    unlink("newlink3");
    pool_look(number);
}

void body(void)
{
    show_path("a.bin");
    truncating("truncate");
    truncating("truncate64");
    removing("unlink");
    removing("remove");
    removing_at();
    removing_directories();
    renaming("rename");
    renaming("renameat");
    renaming("renameat2");
    renaming_directories("rename");
    renaming_directories("renameat");
    renaming_directories("renameat2");
    exchanging();
    linking();
}
