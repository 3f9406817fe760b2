/*
 * Giving the origin back to what the program had open, or mapped, of a file before it opens it for
 * writing: descriptors and shared maps of its entries become the origin's, so that they show what
 * is written, as they would without us.
 *
 * Only of this process: another one's keep what was there. Private maps stay as they are, since
 * nobody can tell which of their pages the program has changed. What stays is counted.
 *
 * Another thread may use a descriptor in that moment. If its offset is seen to move it stays as it
 * is, and is counted; a read that falls between the last look and dup3 is given again. A number
 * that is closed between the two may be another file's by then. The kernel has no call for both.
 */
#ifndef STK_PRELOAD_RESTORE_H
#define STK_PRELOAD_RESTORE_H

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "cache/cache.h"

/*
 * `written` is the origin, which is open for writing, or truncated, and not given to the program
 * yet; `name` in `dirfd` leads to it. Reads /proc/self/fd and /proc/self/maps. Inside the guard.
 */
void stk_restore_origin(struct stk_cache *cache, const struct stat *written, int dirfd,
                        const char *name);

/*
 * After a read of `fd` that failed by EIO: if it is an entry's, the disk of a tier has failed,
 * which is none of the program's business. The descriptor becomes the origin's, where it stands,
 * and the entry goes. True: the read is to be made again. Keeps errno. Outside the guard, which it
 * takes.
 */
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

/* A call that reads `fd`, and is made again if that was so. Needs errno. */
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

#endif
