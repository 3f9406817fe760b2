/* Compares a directory with its listing (cache/listing/listing.h). */
#pragma once

#include "cache/listing/listing.h"

enum names { NAMES_SAME, NAMES_DIFFER, NAMES_UNREADABLE };

/* Returns NAMES_SAME if the directory open as `fd`, at its start, has the listing's names, in any
 * order, each of the same kind. */
enum names names_compare(const struct stk_listing *listing, int fd);
