/*
 * Reads the pages of LMDB's tree that lead to a key, before LMDB touches them. LMDB maps the file,
 * and touching a page that the disk cannot read ends the program by a signal; a read only fails.
 * Pages that were read stay in memory for a while, for other processes too.
 *
 * This file knows the format of LMDB's files (version 1, in pages), and nothing else of LMDB. Parts
 * that it does not know it leaves to LMDB. Safe in threads, and after fork.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* LMDB's two trees: of free pages, and of values. */
enum stk_btree { STK_BTREE_FREE, STK_BTREE_VALUES };

/* Reads the two pages that say where everything is. Returns false if the disk cannot. */
bool stk_btree_read_heads(int fd, size_t page_bytes);

/* Reads the pages from the root to `key`, as they were in transaction `txn` of the file open as
 * `fd`. Returns false if the disk cannot, or if that transaction's pages may have been written
 * again. */
bool stk_btree_read_way(int fd, size_t page_bytes, uint64_t txn, enum stk_btree tree,
                        const void *key, size_t key_bytes);
