/*
 * `--auto`: whether copies of files would gain anything. They do not where opens do not wait for
 * the origin, and the kernel's page cache can hold all of it: then only what decoding makes of the
 * files is worth its memory.
 */
#ifndef STK_CLI_AUTOMATIC_H
#define STK_CLI_AUTOMATIC_H

#include "cli/request.h"

/* If the request asks for it: sets request->files_left to why they gain nothing, and asks for
 * nothing to be filled ahead; or says why files are cached as without --auto. Looks at the data set
 * for half a second at most, and opens a few files of each path. */
void automatic_decide(struct request *request);

#endif
