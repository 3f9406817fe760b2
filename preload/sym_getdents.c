/*
 * getdents64 by libc's name. The descriptor stays the origin's own, and its offset goes along: all
 * who share it go on from there, and the origin can be asked for the rest at any time.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/sys.h"
#include "preload/cover.h"
#include "preload/directory.h"
#include "preload/export.h"
#include "preload/next.h"
#include "preload/process.h"

static ssize_t next_getdents(int fd, void *buffer, size_t room)
{
    ssize_t (*next)(int, void *, size_t) = STK_NEXT(getdents64, ssize_t(*)(int, void *, size_t));
    if (next != NULL) {
        return next(fd, buffer, room);
    }
    ssize_t got = stk_sys_getdents(fd, buffer, room);
    if (got < 0) {
        errno = (int)-got;
    }
    return got < 0 ? -1 : got;
}

/* Where the names behind this place begin; false: nobody has told of such a place. */
static bool find_place(const struct stk_listing *listing, int64_t told, size_t *at)
{
    const struct stk_listing_name *name = NULL;
    *at = 0;
    if (told == 0) {
        return true;
    }
    do {
        name = stk_listing_at(listing, at);
    } while (name != NULL && name->next != told);
    return name != NULL;
}

/* Copies what fits, and the place behind it; how many bytes. */
static size_t copy_names(const struct stk_listing *listing, size_t at, char *buffer, size_t room,
                         int64_t *told)
{
    size_t copied = 0;
    const struct stk_listing_name *name;
    while ((name = stk_listing_at(listing, &at)) != NULL && name->bytes <= room - copied) {
        memcpy(buffer + copied, name, name->bytes);
        copied += name->bytes;
        *told = name->next;
    }
    return copied;
}

/* -1: the origin is to be asked, as nothing fits, or the kernel does not take the place. */
static ssize_t serve_names(const struct stk_listing *listing, int fd, char *buffer, size_t room)
{
    size_t at;
    off_t before = stk_sys_lseek(fd, 0, SEEK_CUR);
    int64_t told = before;
    if (before < 0 || !find_place(listing, told, &at)) {
        return -1;
    }
    size_t copied = copy_names(listing, at, buffer, room, &told);
    bool moved = copied == 0 ? stk_listing_at(listing, &at) == NULL
                             : stk_sys_lseek(fd, told, SEEK_SET) == told;
    if (!moved) {
        stk_sys_lseek(fd, before, SEEK_SET);
    }
    return moved ? (ssize_t)copied : -1;
}

/* Apart, so that a call that has nothing to do with us does not need this much stack. */
static __attribute__((noinline)) ssize_t getdents_perhaps(int fd, char *buffer, size_t room)
{
    char path[STK_PATH_BYTES];
    struct stk_directory_look look;
    off_t before = stk_sys_lseek(fd, 0, SEEK_CUR);
    stk_directory_look_fd(fd, path, &look);
    if (!look.found) {
        return -1;
    }
    if (before == 0) {
        stk_sys_lseek(fd, 0, SEEK_SET); /* it may have been listed just now */
    }
    ssize_t got = serve_names(&look.listing, fd, buffer, room);
    stk_listing_close(&look.listing);
    return got;
}

STK_EXPORT(ssize_t, getdents64, int fd, void *buffer, size_t room)
{
    bool may = stk_process_is_on() && !stk_path_is_missing(buffer);
    ssize_t got = may ? getdents_perhaps(fd, buffer, room) : -1;
    return got >= 0 ? got : next_getdents(fd, buffer, room);
}
