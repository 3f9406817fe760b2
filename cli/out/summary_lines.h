/* The lines of a summary. They are added in their order, each with its weight. If they do not fit
 * into the rows, of 80 columns, the lightest are left out, and a row says so. */
#pragma once

#include <stdio.h>

#include "cli/out/break_text.h"

#define LINES_MOST    12 /* rows that are usual */
#define LINES_ALL     0
#define LINES_COLUMNS 80

/* From the weight that stays longest to the one that is left out first. */
enum weight { HEAD, EPOCHS, LOSSES, TIMES, CACHES, PARTS, DETAILS };

/* Adds a line, without its newline. A long line is broken at blanks, and never within a word. */
void lines_add(enum weight weight, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Turns each BREAK_KEEP of a text into a blank, for text that does not become a summary's line. */
void lines_let_break(char *text);
/* Prints lines in so many rows, or all (LINES_ALL), or the first line alone (1). Forgets them. */
void lines_print(FILE *out, unsigned most_rows);
