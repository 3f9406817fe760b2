/* Where files lie on a disk. */
#ifndef STK_CLI_EXTENT_H
#define STK_CLI_EXTENT_H

#include <stdint.h>

/* Where a regular file's first byte lies on its disk, by which files can be read in the order in
 * which a head comes to them; `otherwise` where its file system does not tell, or there is no such
 * place (yet). Reads the file's inode, and nothing of the file. */
uint64_t extent_of_file(const char *path, uint64_t otherwise);

#endif
