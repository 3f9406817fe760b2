/*
 * Puts the origin in the place of entries that the process has open or mapped, before the program
 * opens the file for writing. Descriptors and shared maps of its entries become the origin's, so
 * that they show what is written, as without Stoker.
 *
 * This concerns only this process: another process keeps its entries. Private maps stay as they
 * are, since the kernel does not say which of their pages the program has changed. Descriptors and
 * maps that stay are counted.
 *
 * Another thread may use a descriptor in that moment. If the offset is seen to move, the descriptor
 * stays as it is, and is counted. A read between the last look and dup3 returns bytes that a later
 * read returns again. If the number is closed between the two, it may be another file's by then.
 * The kernel has no call that does both.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "cache/cache.h"

/* Restores the origin everywhere in this process. `name` in `dirfd` leads to the origin, which is
 * open for writing, or truncated, and not given to the program yet. Reads /proc/self/fd and
 * /proc/self/maps. Inside the guard. */
void stk_restore_origin(struct stk_cache *cache, int dirfd, const char *name);

/* Call it after a read of `fd` failed with EIO. If `fd` is an entry's, the disk of a tier has
 * failed, and the program must not notice. Then the descriptor becomes the origin's at the same
 * offset, and the entry is dropped. Returns true if the read is to be made again. Keeps errno. Call
 * it outside the guard, which it takes. */
bool stk_restore_failed(int fd);

/*
 * Prepares a lock of `fd`. If `fd` is an entry's, the descriptor becomes the origin's at the same
 * offset, under all its numbers in this process: other processes lock the origin. The program then
 * reads the file as it is, as without us. If the origin cannot be opened (its path leads to another
 * file), or another thread is reading, the entry stays and is locked. Keeps errno. Call it outside
 * the guard, which it takes.
 *
 * `shared`: the lock is a shared one, which HDF5 takes of each file that it reads. An HDF5 file
 * stays an entry then: otherwise no small HDF5 file would be served.
 */
void stk_restore_for_lock(int fd, bool shared);

/* Makes a call that reads `fd`, and makes it again if stk_restore_failed says so. Needs errno. */
#define STK_READ_TWICE(fd, call)                                                                   \
    ({                                                                                             \
        int before = errno;                                                                        \
        ssize_t done = (call);                                                                     \
        if (done < 0 && errno == EIO && stk_restore_failed(fd)) {                                  \
            errno = before;                                                                        \
            done = (call);                                                                         \
        }                                                                                          \
        done;                                                                                      \
    })
