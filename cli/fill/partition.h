/* Decides which of several nodes fills a file ahead. Each node has a hash of the path below the
 * covered root, and the node with the highest hash takes the file. The nodes need not ask each
 * other. If a node comes or goes, only that node's files move. */
#ifndef STK_CLI_FILL_PARTITION_H
#define STK_CLI_FILL_PARTITION_H

#include <stddef.h>

/* Returns the node, from 1 to `nodes`, that fills this path. The answer is the same in all versions
 * of Stoker. */
unsigned partition_of(const char *below, size_t length, unsigned nodes);

#endif
