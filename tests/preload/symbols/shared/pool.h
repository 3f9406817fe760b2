/*
 * Files to be changed: BASE/data/pool/N, each also reachable as poollink/N (a linked directory),
 * sym/N (a symbolic link) and, for even N, hard/N (a hard link). A change by one name must be seen
 * at once by all.
 */
#pragma once

/* Looks at the next unused file by all its names, so that all is known of it; returns its number.
 */
unsigned pool_next(void);
/* Looks again. */
void pool_look(unsigned number);
/* Keeps a file's inode from being freed, and its number from being given to another file, however
 * the file ends: the number identifies the file. */
void pool_pin(const char *path);
/* "BASE/data/DIRECTORY/N", good until the eighth call after this. */
const char *pool_path(const char *directory, unsigned number);
