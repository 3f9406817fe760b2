/*
 * The pages of LMDB's tree that lead to a key, read before LMDB looks at them. It has the file
 * mapped, where a page that a disk cannot read ends the program with a signal; a read fails. What
 * was read is in memory for a while, and others who want it find it there.
 *
 * It knows the format of LMDB's files (of version 1, in pages), and only that. What it does not
 * know it does not read: that is left to LMDB. Safe in threads, and after fork.
 */
#ifndef STK_STORE_TREE_H
#define STK_STORE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* LMDB's two trees: of free pages, and of values. */
enum stk_tree { STK_TREE_FREE, STK_TREE_VALUES };

/* Reads the two pages that say where everything is. False: the disk cannot. */
bool stk_tree_read_heads(int fd, size_t page_bytes);

/* Reads the way to `key`, as it was in transaction `txn` of the file open as `fd`. False: the disk
 * cannot, or it is too late for that transaction. */
bool stk_tree_read_way(int fd, size_t page_bytes, uint64_t txn, enum stk_tree tree, const void *key,
                       size_t key_bytes);

#endif
