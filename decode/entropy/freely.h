/* Parses a scan without restart markers. */
#pragma once

#include "decode/entropy/scan.h"

/* Returns false if the scan is not accepted. */
bool stk_scan_parse_freely(struct stk_scan *scan);
