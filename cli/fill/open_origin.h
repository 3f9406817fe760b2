/* Opens files that are to be filled. */
#ifndef STK_CLI_FILL_OPEN_ORIGIN_H
#define STK_CLI_FILL_OPEN_ORIGIN_H

/* Opens a file for reading only, and without changing its access time if that is allowed. Does not
 * wait if a pipe has replaced the file. Returns a descriptor, or -errno. */
int origin_open(const char *path);

#endif
