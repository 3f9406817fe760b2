/*
 * The page of `stoker report`: one HTML file that needs nothing else, in light and dark, its plots
 * SVG. It is written in pieces (cli/report_*.c), each from a run as it was recorded. What comes
 * from elsewhere, names and words of commands, goes through page_text() alone.
 */
#ifndef STK_CLI_REPORT_PAGE_H
#define STK_CLI_REPORT_PAGE_H

#include <stdio.h>

#include "cli/page.h"
#include "cli/recorder.h"

/* All of it. */
void report_page(FILE *out, const struct recorded *run);

/* ---- its pieces ---- */

extern const char report_style[]; /* CSS */

/* How fast it went, and from where, moment by moment. */
void report_time(FILE *out, const struct recorded *run);
/* The epochs beside each other. */
void report_epochs(FILE *out, const struct recorded *run);
/* What the workers did. */
void report_work(FILE *out, const struct recorded *run);
/* How long the origin took for an open. */
void report_waits(FILE *out, const struct recorded *run);
/* What was not cached, and why. */
void report_bypassed(FILE *out, const struct recorded *run);
/* Images, and batches of a DataLoader; nothing where there were none. */
void report_images(FILE *out, const struct recorded *run);

/* Of n-th opens that took less nobody can say how fast they were. */
#define REPORT_RATED_S 1.0

/* When the n-th epoch began, from 0, in seconds since the start; below 0: it did not, or no
 * DataLoader has told. */
double report_epoch_begin(const struct recorded *run, unsigned n);

#endif
