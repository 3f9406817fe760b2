/* Parses a scan without restart markers. */
#ifndef STK_DECODE_ENTROPY_FREELY_H
#define STK_DECODE_ENTROPY_FREELY_H

#include "decode/entropy/scan.h"

/* Returns false if the scan is not accepted. */
bool stk_scan_parse_freely(struct stk_scan *scan);

#endif
