/* Text in rows of a terminal. */
#pragma once

#include <stdio.h>

/* A blank at which a line is not broken: text to be copied stays in one piece. */
#define BREAK_KEEP "\1"

/* Writes a line, without its newline, and breaks it at blanks, never within a word. Rows have so
 * many columns; those behind the first begin with `indent` blanks. `column`: where it begins.
 * Returns the number of rows. */
unsigned break_text(FILE *out, const char *text, unsigned columns, unsigned indent,
                    unsigned column);
