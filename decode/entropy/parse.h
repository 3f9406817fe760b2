/*
 * Parses a whole scan: from the bytes behind its header to coefficients.
 *
 * Several cursors share the work. If there are restart markers, each cursor has its own intervals.
 * Else all cursors but the first begin anywhere, as if a block began there. JPEG's codes
 * synchronise themselves, mostly within some hundred bits. When the cursor before has come so far,
 * the parser looks for the first place that both have visited. Since DC stays a difference, all
 * output behind that place is right as it is. If the two never meet, the second cursor's work is
 * lost, and the one before goes on.
 *
 * A scan is accepted only if all of the requested part is sound to the last bit. Everything else is
 * left to libjpeg.
 */
#pragma once

#include "decode/entropy/scan.h"

/* Parses a scan. Returns false if it is not accepted. The coefficients stay until the next call. */
bool stk_scan_parse(struct stk_scan *scan, const uint8_t *bytes, size_t size);
/* Parse a prepared scan with restart markers, or one without. Return false if it is not accepted.
 */
bool stk_scan_parse_intervals(struct stk_scan *scan);
bool stk_scan_parse_freely(struct stk_scan *scan);
