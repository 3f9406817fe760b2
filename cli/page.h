/*
 * What pages are made of (cli/report_page.h): text, sections, tables, bars, axes. What comes from
 * elsewhere, names and words of commands, goes through page_text() alone; all other strings are
 * ours, and may hold markup.
 */
#ifndef STK_CLI_PAGE_H
#define STK_CLI_PAGE_H

#include <stdio.h>

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
