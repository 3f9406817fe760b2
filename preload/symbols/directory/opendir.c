/*
 * Serves opendir and the functions that take its DIR. A DIR is Stoker's (preload/serve/directory.h)
 * or the next library's; every function here distinguishes the two by the address. Functions for
 * which libc reads a directory by itself (glob, nftw, fts) ask the origin.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/sys.h"
#include "preload/coverage/cover.h"
#include "preload/coverage/process.h"
#include "preload/interpose/export.h"
#include "preload/interpose/next.h"
#include "preload/serve/directory.h"

_Static_assert(offsetof(struct stk_listing_name, name) == offsetof(struct dirent64, d_name),
               "names are libc's own records");
_Static_assert(offsetof(struct dirent, d_name) == offsetof(struct dirent64, d_name),
               "there is one form of them");

typedef struct dirent *dir_to_entry(DIR *);
typedef void dir_to_nothing(DIR *);

STK_DEFINE_NEXT_OR(stk_next_missing_pointer(), DIR *, opendir, (const char *path), (path))
STK_DEFINE_NEXT_OR(stk_next_missing_pointer(), DIR *, fdopendir, (int fd), (fd))
STK_DEFINE_NEXT(int, dirfd, (DIR * dir), (dir))
STK_DEFINE_NEXT(int, closedir, (DIR * dir), (dir))

/* Returns Stoker's DIR with the listing that was found, which may have libc's DIR inside; else
 * libc's. */
static DIR *wrap(struct stk_directory_look *look, DIR *real)
{
    struct stk_directory *directory = stk_directory_make(&look->place, &look->listing, real);
    if (directory == NULL) {
        stk_listing_close(&look->listing);
        return real;
    }
    return (DIR *)(void *)directory;
}

static DIR *open_unknown(struct stk_directory_look *look, const char *path)
{
    DIR *real = opendir_next(path);
    int fd = real != NULL && look->cache != NULL ? dirfd_next(real) : -1;
    if (fd < 0 || !stk_directory_fill(look, fd)) {
        return real;
    }
    stk_sys_lseek(fd, 0, SEEK_SET);
    return wrap(look, real);
}

/* Apart, so that a call on a path that is not covered does not need this much stack. */
static __attribute__((noinline)) DIR *open_perhaps(const char *path)
{
    struct stk_directory_look look;
    stk_directory_look(AT_FDCWD, path, &look);
    if (!look.found) {
        return open_unknown(&look, path);
    }
    DIR *dir = wrap(&look, NULL);
    return dir != NULL ? dir : opendir_next(path);
}

STK_EXPORT(DIR *, opendir, (const char *path))
{
    return stk_cover_may(path) ? open_perhaps(path) : opendir_next(path);
}

static __attribute__((noinline)) DIR *wrap_fd(int fd, DIR *real)
{
    char path[STK_PATH_BYTES];
    struct stk_directory_look look;
    off_t before = stk_sys_lseek(fd, 0, SEEK_CUR);
    stk_directory_look_fd(fd, path, &look);
    if (!look.found) {
        return real;
    }
    stk_sys_lseek(fd, before, SEEK_SET); /* the listing may have been made just now */
    return wrap(&look, real);
}

STK_EXPORT(DIR *, fdopendir, (int fd))
{
    DIR *real = fdopendir_next(fd);
    return real != NULL && stk_process_is_on() ? wrap_fd(fd, real) : real;
}

STK_EXPORT(int, closedir, (DIR * dir))
{
    struct stk_directory *directory = stk_directory_of(dir);
    if (directory == NULL) {
        return closedir_next(dir);
    }
    DIR *real = atomic_load(&directory->real);
    stk_directory_free(directory);
    return real != NULL ? closedir_next(real) : 0;
}

/* ---- names ---- */

/* Has libc read on from the descriptor's offset, behind the names that the program has. libc reads
 * when the first name is asked for, and again behind the last. That moves the offset for all
 * processes that share it. */
static void read_on(struct stk_directory *directory, DIR *real)
{
    int fd = dirfd_next(real);
    off_t moved = stk_sys_lseek(fd, 0, SEEK_CUR);
    if (moved < 0 || !stk_directory_go_on(directory, moved)) {
        directory->forwards = true;
    } else {
        stk_sys_lseek(fd, stk_directory_end(directory), SEEK_SET);
    }
}

/* Returns true if libc's DIR is to be asked: another library's, or the one inside. */
static bool is_next(struct stk_directory *directory)
{
    if (directory == NULL || directory->forwards) {
        return true;
    }
    DIR *real = atomic_load(&directory->real);
    if (!atomic_exchange(&directory->begun, true) && real != NULL) {
        read_on(directory, real);
    }
    return directory->forwards;
}

static const struct stk_listing_name *next_name(struct stk_directory *directory)
{
    const struct stk_listing_name *name = stk_directory_next(directory);
    DIR *real = atomic_load(&directory->real);
    if (name == NULL && real != NULL &&
        stk_sys_lseek(dirfd_next(real), 0, SEEK_CUR) != stk_directory_end(directory)) {
        read_on(directory, real);
        name = directory->forwards ? NULL : stk_directory_next(directory);
    }
    return name;
}

static struct dirent *read_name(enum stk_symbol symbol, DIR *dir)
{
    struct stk_directory *directory = stk_directory_of(dir);
    if (is_next(directory)) {
        dir_to_entry *next = (dir_to_entry *)stk_next(symbol);
        return next != NULL ? next(directory != NULL ? atomic_load(&directory->real) : dir) : NULL;
    }
    return (struct dirent *)(void *)(uintptr_t)next_name(directory);
}

STK_EXPORT(struct dirent *, readdir, (DIR * dir))
{
    return read_name(STK_SYM_readdir, dir);
}

STK_EXPORT(struct dirent *, readdir64, (DIR * dir))
{
    return read_name(STK_SYM_readdir64, dir);
}

static int copy_name(enum stk_symbol symbol, DIR *dir, struct dirent *entry, struct dirent **result)
{
    struct stk_directory *directory = stk_directory_of(dir);
    if (is_next(directory)) {
        int (*next)(DIR *, struct dirent *, struct dirent **) =
            (int (*)(DIR *, struct dirent *, struct dirent **))stk_next(symbol);
        return next != NULL
                   ? next(directory != NULL ? atomic_load(&directory->real) : dir, entry, result)
                   : ENOSYS;
    }
    const struct stk_listing_name *name = next_name(directory);
    *result = name != NULL ? entry : NULL;
    if (name != NULL) {
        size_t room = sizeof *entry;
        memcpy(entry, name, name->bytes < room ? name->bytes : room);
    }
    return 0;
}

STK_EXPORT(int, readdir_r, (DIR * dir, struct dirent *entry, struct dirent **result))
{
    return copy_name(STK_SYM_readdir_r, dir, entry, result);
}

STK_EXPORT(int, readdir64_r, (DIR * dir, struct dirent *entry, struct dirent **result))
{
    return copy_name(STK_SYM_readdir64_r, dir, entry, result);
}

/* ---- places ---- */

STK_SYMBOL(long, telldir, (DIR * dir), (dir))
{
    struct stk_directory *directory = stk_directory_of(dir);
    if (directory != NULL && !directory->forwards) {
        return atomic_load(&directory->position);
    }
    return telldir_next(directory != NULL ? atomic_load(&directory->real) : dir);
}

static void next_seekdir(DIR *dir, long position)
{
    void (*next)(DIR *, long) = STK_NEXT(seekdir, void (*)(DIR *, long));
    if (next != NULL) {
        next(dir, position);
    }
}

STK_EXPORT(void, seekdir, (DIR * dir, long position))
{
    struct stk_directory *directory = stk_directory_of(dir);
    DIR *real = directory != NULL ? atomic_load(&directory->real) : dir;
    if (real != NULL) {
        next_seekdir(real, position);
    }
    if (directory != NULL && !directory->forwards) {
        stk_directory_seek(directory, position);
    }
}

/* Moves the offset to where libc would have it by now. On this machine the names are read for that:
 * ext4 takes no descriptor back to the start that was first read at its end. */
static void bring_to_place(const struct stk_directory *directory, int fd)
{
    char names[2048] __attribute__((aligned(8)));
    if (!atomic_load(&directory->begun)) {
        stk_sys_lseek(fd, atomic_load(&directory->position), SEEK_SET);
    } else if (directory->local) {
        while (stk_sys_getdents(fd, names, sizeof names) > 0) {
        }
    } else {
        stk_sys_lseek(fd, stk_directory_end(directory), SEEK_SET);
    }
}

/* Returns libc's DIR inside, opened now if there is none; or NULL, with errno. Another directory
 * may lie at the path by now. */
static DIR *real_of(struct stk_directory *directory)
{
    DIR *real = atomic_load(&directory->real);
    if (real != NULL) {
        return real;
    }
    DIR *opened = opendir_next(directory->path);
    if (opened == NULL) {
        return NULL;
    }
    if (stk_directory_compare(&directory->listing, dirfd_next(opened)) == STK_DIRECTORY_ANOTHER) {
        closedir_next(opened);
        errno = ENOTSUP;
        return NULL;
    }
    if (!atomic_compare_exchange_strong(&directory->real, &real, opened)) {
        closedir_next(opened);
        return real;
    }
    bring_to_place(directory, dirfd_next(opened));
    return opened;
}

STK_EXPORT(int, dirfd, (DIR * dir))
{
    struct stk_directory *directory = stk_directory_of(dir);
    DIR *real = directory != NULL ? real_of(directory) : dir;
    return real != NULL ? dirfd_next(real) : -1;
}

static void next_rewinddir(DIR *dir)
{
    dir_to_nothing *next = STK_NEXT(rewinddir, dir_to_nothing *);
    if (next != NULL) {
        next(dir);
    }
}

/* Rewinds Stoker's DIR. A program that reads from the start again shall see what was changed
 * since. */
static void rewind_ours(struct stk_directory *directory)
{
    int saved = errno;
    if (!directory->forwards && !stk_directory_renew(directory)) {
        directory->forwards = real_of(directory) != NULL;
    }
    DIR *real = atomic_load(&directory->real);
    if (real != NULL) {
        next_rewinddir(real);
    }
    stk_directory_seek(directory, 0);
    errno = saved;
}

STK_EXPORT(void, rewinddir, (DIR * dir))
{
    struct stk_directory *directory = stk_directory_of(dir);
    if (directory != NULL) {
        rewind_ours(directory);
    } else {
        next_rewinddir(dir);
    }
}
