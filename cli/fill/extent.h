/* Where files lie on a disk. */
#ifndef STK_CLI_FILL_EXTENT_H
#define STK_CLI_FILL_EXTENT_H

#include <stdint.h>

/* Returns the place of a regular file's first byte on its disk: files can be read in the order in
 * which a disk's head passes them. Returns `otherwise` if the file system does not say, or if there
 * is no such place (yet). Reads the file's inode, and nothing of its contents. */
uint64_t extent_of_file(const char *path, uint64_t otherwise);

#endif
