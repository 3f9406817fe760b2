/* `--auto`: decides whether copies of files gain anything. They gain nothing if opens do not wait
 * for the origin and the kernel's page cache can hold all files. Then only the results of decoding
 * are worth memory. */
#pragma once

#include "cli/args/request.h"

/* If the request asks for it, decides. If copies gain nothing, sets request->files_left to the
 * reason, and nothing is filled ahead. Else says why files are cached as without --auto. Looks at
 * the data set for half a second at most, and opens a few files of each path. */
void automatic_decide(struct request *request);
