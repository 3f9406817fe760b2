/* Parses a scan with restart markers. */
#pragma once

#include "decode/entropy/scan.h"

/* Returns false if the scan is not accepted. */
bool stk_scan_parse_intervals(struct stk_scan *scan);
