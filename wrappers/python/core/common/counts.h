/* Counts of the running command's tally (base/tally.h), and of the passes of a feed. */
#pragma once

#include <stdint.h>

#include "wrappers/python/core/common/limited_api.h"

/* Adds to a counter of the tally. */
void count_more(unsigned slot, uint64_t count);
