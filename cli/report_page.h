/*
 * The page of `stoker report`: one HTML file that needs nothing else, in light and dark, its plots
 * SVG. It is written in pieces (cli/report_*.c), each from a run as it was recorded. What comes
 * from elsewhere, names and words of commands, goes through page_text() alone.
 */
#ifndef STK_CLI_REPORT_PAGE_H
#define STK_CLI_REPORT_PAGE_H

#include <stdio.h>

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

/* When the n-th epoch began, from 0, in seconds since the start; below 0: it did not. */
double report_epoch_begin(const struct recorded *run, unsigned n);

/* ---- what they are made of ---- */

/* Text between tags or in an attribute: no byte of it is markup. */
void page_text(FILE *out, const char *text);
/* A section begins with its heading and what it shows, in words; both are ours. */
void page_begin(FILE *out, const char *id, const char *heading, const char *about);
void page_end(FILE *out);
/* A table of the same figures, closed at first; its head cells are separated by "|". */
void page_begin_table(FILE *out, const char *heads);
void page_end_table(FILE *out);

/* One row of bars, each with a name and a value of its own. */
struct page_part {
    const char *class; /* its colour */
    double value;
};
struct page_bar {
    const char *name, *note; /* note: what the name means, or NULL */
    const char *text;        /* the value, written out */
    const struct page_part *parts;
    unsigned count;
};
void page_bar(FILE *out, const struct page_bar *bar, double whole);

/* An axis from 0 to a round number that the value is not above, in steps of 1, 2, 5, 10, ... units,
 * at most so many. */
struct page_axis {
    double step, top;
    unsigned steps;
};
struct page_axis page_axis(double value, double unit, unsigned most);
/* Its lines across a plot, which is 1000 by PAGE_HEIGHT in its own units. */
#define PAGE_HEIGHT 200.0
void page_grid(FILE *out, const struct page_axis *axis);
/* "2.5 s", "12 min", "3.5 h". Into a buffer of the caller's, which is returned. */
#define PAGE_TEXT 32
const char *page_seconds(char out[PAGE_TEXT], double seconds);

#endif
