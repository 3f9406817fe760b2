/* What a directory holds, against what a listing of it (cache/listing.h) says. */
#ifndef STK_CLI_NAMES_H
#define STK_CLI_NAMES_H

#include "cache/listing.h"

enum names { NAMES_SAME, NAMES_DIFFER, NAMES_UNREADABLE };

/* Whether the directory that is open, at its start, has the same names, in whatever order, and of
 * the same kinds. */
enum names names_compare(const struct stk_listing *listing, int fd);

#endif
