/*
 * The origin of a fill, by the program's own descriptor. Another thread may close whatever numbers
 * it likes, and the number then belongs to the next file that is opened: so each look compares.
 * Nothing here moves the descriptor's offset. No heap; safe everywhere.
 */
#ifndef STK_CACHE_ORIGIN_H
#define STK_CACHE_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cache/identity.h"

struct stk_origin {
    int fd;
    uint64_t dev, ino;
};

/* Reads some bytes, fewer if that is what there is. -EBADF when the number has become another's. */
ssize_t stk_origin_read(const struct stk_origin *origin, char *buffer, size_t bytes, off_t offset);

/* Tells the kernel that all of the file will be read from its beginning, or that this is over: over
 * a network it then asks for more at once, and ahead. */
void stk_origin_read_through(const struct stk_origin *origin, bool begins);

/*
 * Has the file's changed pages written out, without waiting for that. A page that is changed
 * already can be stored to through a map without a trace in the file's times; what is stored after
 * this shows in them again. Whatever the times say: tools set them, and the clock may have been
 * stepped.
 */
void stk_origin_settle(const struct stk_origin *origin);

/*
 * Whether the file has holes, as far as its file system tells; true also when that cannot be found
 * out. Files with as many blocks as their size needs are not asked: holes that are hidden by blocks
 * for other things are not seen.
 */
bool stk_origin_has_holes(const struct stk_origin *origin, const struct stk_identity *identity);

/* Whether nothing of the file is in memory yet; false also when that cannot be found out. */
bool stk_origin_is_unread(const struct stk_origin *origin, uint64_t size);
/* Takes out of memory what is there of the file. */
void stk_origin_forget(const struct stk_origin *origin);

#endif
