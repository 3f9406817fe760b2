/* Opening what is to be filled. */
#ifndef STK_CLI_ORIGIN_H
#define STK_CLI_ORIGIN_H

/* Opens a file for reading only, and without a trace in its times where that is allowed; never
 * waits for somebody to write to a pipe that has come to lie there. A descriptor, or -errno. */
int origin_open(const char *path);

#endif
