/*
 * Reading big files: what all symbols of the read family share. A descriptor stays the origin's;
 * what it shares with others, its offset, moves as by a read of the kernel's.
 */
#ifndef STK_PRELOAD_BIG_H
#define STK_PRELOAD_BIG_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "cache/big.h"

#define STK_BIG_HERE (-1) /* for an offset: the descriptor's own */

/*
 * Serves a read of any descriptor from the blocks of a big file. True: `got` is what the call
 * returns, with errno set if that is -1. False: nothing was done, the next call is to be made. To
 * be asked where stk_big_is_any(); errno is else as it was.
 */
bool stk_big_read(int fd, void *buffer, size_t bytes, off_t offset, ssize_t *got);
bool stk_big_readv(int fd, const struct iovec *parts, int count, off_t offset, ssize_t *got);

/* This number has just become that of a file which may be big. */
void stk_big_expect(int fd);

/* The same for what blocks cannot serve, of a file that is not too large for that: the entry that a
 * map is to be made of, to be closed, or -1; and having all of it in memory for a stream that will
 * read this descriptor. errno is as it was. */
int stk_big_open_for_map(int fd);
void stk_big_prepare_stream(int fd);

/*
 * Calls fetch(call, offset, bytes) for each part of a range that the kernel should fetch ahead: of
 * a big file those that are not there in blocks. `bytes` 0: up to the end. False: nothing was done,
 * the next call is to be made. To be asked where stk_big_is_any(); errno is as it was.
 */
typedef void stk_big_fetch(void *call, off_t offset, off_t bytes);
bool stk_big_ahead(int fd, off_t offset, off_t bytes, stk_big_fetch *fetch, void *call);

#endif
