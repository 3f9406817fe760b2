/*
 * Reads the origin of a fill by the program's own descriptor. Another thread may close any number,
 * and the number then belongs to the next opened file: so each look compares device and inode. No
 * function moves the descriptor's offset. No heap; safe in threads, after fork and in signal
 * handlers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cache/catalogue/identity.h"
#include "cache/origin/root.h"

struct stk_origin {
    int fd;
    uint64_t dev, ino;
};

/*
 * Gives the reads a number of their own (base/own_number.h) until stk_origin_release, which gives
 * the program's number back. The compared inode alone would not notice that the number was another
 * file's between two looks, and then of a second descriptor of the same file. Not on FUSE, where
 * each close asks the server; nor if there is no number: then the inode has to do. Not for a
 * descriptor that the program has already: the close of a duplicate ends its record locks.
 */
void stk_origin_take(struct stk_origin *origin, const struct stk_root *root);
void stk_origin_release(struct stk_origin *origin, const struct stk_origin *theirs);

/* Returns true if a path leads to this file, as far as this client knows. An empty path asks about
 * the descriptor `dirfd`. */
bool stk_origin_is_at(const struct stk_origin *origin, int dirfd, const char *path);

/* Reads up to so many bytes. Returns -EBADF if the number belongs to another file by now. A direct
 * read that fails is made again by the pages. */
ssize_t stk_origin_read(const struct stk_origin *origin, char *buffer, size_t bytes, off_t offset);

/* Advises the kernel that the file will be read from front to back, or that this is over. Over a
 * network the kernel then asks for more at once, and ahead. */
void stk_origin_read_through(const struct stk_origin *origin, bool begins);

/*
 * Starts writing out the file's changed pages, without waiting for it. A store through a map to a
 * page that is already dirty leaves no trace in the file's times; after this call the next store
 * does. The times themselves prove nothing: tools set them, and the clock may have been stepped.
 */
void stk_origin_write_out(const struct stk_origin *origin);

/*
 * Returns true if the file has holes, as far as its file system says, or if that cannot be found
 * out. A file with as many blocks as its size needs is not searched: a hole hidden by blocks for
 * other things goes unseen.
 */
bool stk_origin_has_holes(const struct stk_origin *origin, const struct stk_identity *identity);

/* Returns true if no page of the file is in memory; false also if that cannot be found out. */
bool stk_origin_is_unread(const struct stk_origin *origin, uint64_t size);
/* Drops the file's pages from memory. */
void stk_origin_forget(const struct stk_origin *origin);
