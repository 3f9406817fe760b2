/* Parses a scan with restart markers. */
#ifndef STK_DECODE_ENTROPY_INTERVALS_H
#define STK_DECODE_ENTROPY_INTERVALS_H

#include "decode/entropy/scan.h"

/* Returns false if the scan is not accepted. */
bool stk_scan_parse_intervals(struct stk_scan *scan);

#endif
