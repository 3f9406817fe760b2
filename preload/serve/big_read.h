/*
 * Serves reads of big files, for all symbols of the read family. The program's descriptor stays the
 * origin's. Its offset, which other descriptors may share, moves as by a read of the kernel's.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "cache/big/big.h"

#define STK_BIG_HERE (-1) /* as an offset: the descriptor's own offset */

/* Serves a read of any descriptor from the blocks of a big file. Returns true if `got` is the
 * result of the call, with errno set if that is -1. Returns false if nothing was done and the
 * caller must make the next call. Call it only if stk_big_is_any(). Else leaves errno as it was. */
bool stk_big_read(int fd, void *buffer, size_t bytes, off_t offset, ssize_t *got);
bool stk_big_readv(int fd, const struct iovec *parts, int count, off_t offset, ssize_t *got);

/* Notes that this number has just become that of a file which may be big. */
void stk_big_expect(int fd);

/* Serve a file that blocks cannot serve, if it is not too large to become an entry.
 * stk_big_open_for_map returns the entry's descriptor to make a map of, which the caller closes, or
 * -1. stk_big_prepare_stream completes the entry in memory for a stream that will read this
 * descriptor. Both leave errno as it was. */
int stk_big_open_for_map(int fd, size_t bytes);
void stk_big_prepare_stream(int fd);

/* Calls fetch(call, offset, bytes) for each part of a range that the kernel should fetch ahead: the
 * parts of a big file that are not there in blocks. `bytes` 0: up to the end. Returns false if
 * nothing was done and the caller must make the next call. Call it only if stk_big_is_any(). Leaves
 * errno as it was. */
typedef void stk_big_fetch(void *call, off_t offset, off_t bytes);
bool stk_big_ahead(int fd, off_t offset, off_t bytes, stk_big_fetch *fetch, void *call);
