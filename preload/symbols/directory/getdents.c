/*
 * Serves libc's function getdents64, not the system call of that name. The descriptor stays the
 * origin's own, and its offset moves along. So all processes that share the offset go on from
 * there, and the origin can be asked for the rest at any time.
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/sys.h"
#include "preload/coverage/process.h"
#include "preload/interpose/export.h"
#include "preload/serve/directory.h"

STK_DEFINE_NEXT_OR(stk_next_result(stk_sys_getdents(fd, buffer, room)), ssize_t, getdents64,
                   (int fd, void *buffer, size_t room), (fd, buffer, room))

/* Copies the names that fit, and writes the place behind them. Returns how many bytes it has
 * copied. */
static size_t copy_names(const struct stk_listing *listing, size_t at, char *buffer, size_t room,
                         int64_t *position)
{
    size_t copied = 0;
    const struct stk_listing_name *name;
    while ((name = stk_listing_at(listing, &at)) != NULL && name->bytes <= room - copied) {
        memcpy(buffer + copied, name, name->bytes);
        copied += name->bytes;
        *position = name->next;
    }
    return copied;
}

/* Serves names from a listing. Returns -1 if the origin is to be asked: no name fits, or the kernel
 * does not take the place. */
static ssize_t serve_names(const struct stk_listing *listing, int fd, char *buffer, size_t room)
{
    size_t at;
    off_t before = stk_sys_lseek(fd, 0, SEEK_CUR);
    int64_t position = before;
    if (before < 0 || !stk_directory_find_place(listing, position, &at)) {
        return -1;
    }
    size_t copied = copy_names(listing, at, buffer, room, &position);
    bool moved = copied == 0 ? stk_listing_at(listing, &at) == NULL
                             : stk_sys_lseek(fd, position, SEEK_SET) == position;
    if (!moved) {
        stk_sys_lseek(fd, before, SEEK_SET);
    }
    return moved ? (ssize_t)copied : -1;
}

/* Apart, so that a call on a path that is not covered does not need this much stack. */
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
        stk_sys_lseek(fd, 0, SEEK_SET); /* the listing may have been made just now */
    }
    ssize_t got = serve_names(&look.listing, fd, buffer, room);
    stk_listing_close(&look.listing);
    return got;
}

STK_EXPORT(ssize_t, getdents64, (int fd, void *buffer, size_t room))
{
    bool may = stk_process_is_on() && !stk_path_is_missing(buffer);
    ssize_t got = may ? getdents_perhaps(fd, buffer, room) : -1;
    return got >= 0 ? got : getdents64_next(fd, buffer, room);
}
