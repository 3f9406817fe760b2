/*
 * Which of several nodes fills a file ahead: each node has a hash of the path below the covered
 * root, and the highest takes it. Nobody has to be asked; and where a node comes or goes, only what
 * is that node's moves.
 */
#ifndef STK_CLI_SHARE_H
#define STK_CLI_SHARE_H

#include <stddef.h>

/* The node, from 1 to `nodes`, that this path belongs to. Stays the same in all versions. */
unsigned share_of(const char *below, size_t length, unsigned nodes);

#endif
