/* The lines of a summary: put down in their order, each with its weight, and printed where they fit
 * in ten of 80 columns; of more, the lightest are left out, which is said. */
#ifndef STK_CLI_SUMMARY_LINES_H
#define STK_CLI_SUMMARY_LINES_H

#include <stdio.h>

#define LINES_MOST    10
#define LINES_COLUMNS 80

/* What is left out last comes first. */
enum weight { HEAD, EPOCHS, LOSSES, TIMES, CACHES, PARTS, DETAILS };

/* A blank at which a line is not broken: what is to be copied stays in one piece. */
#define LINES_KEEP "\1"

/* Puts a line down, without its end. A long one is broken at blanks; a word never. */
void lines_add(enum weight weight, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Has the blanks of a text be blanks, where it goes elsewhere. */
void lines_let_break(char *text);
/* Prints them, and forgets them. */
void lines_print(FILE *out);

#endif
