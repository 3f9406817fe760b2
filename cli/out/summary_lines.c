#include "cli/out/summary_lines.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/out/break_text.h"
#include "cli/out/sanitise.h"
#include "cli/out/say.h"

#define MOST   64
#define INDENT 4 /* of the continuation of a broken line */

static struct summary_line {
    enum weight weight;
    unsigned rows;
    bool left_out;
    char *text; /* broken already */
} lines[MOST];
static unsigned count;

void lines_let_break(char *text)
{
    for (char *at = text; (at = strchr(at, *BREAK_KEEP)) != NULL;) {
        *at = ' ';
    }
}

void lines_add(enum weight weight, const char *format, ...)
{
    char *broken = NULL;
    size_t bytes;
    OWNED char *text = MUST_FORMAT_REST(format);
    FILE *out = must_open_text(&broken, &bytes);
    unsigned rows = break_text(out, sanitise_line_but(text, *BREAK_KEEP), LINES_COLUMNS, INDENT, 0);
    fclose(out);
    if (count < MOST) {
        lines[count++] = (struct summary_line){.weight = weight, .rows = rows, .text = broken};
    }
}

/* Returns the lightest remaining line; among equals the last. */
static struct summary_line *lightest(void)
{
    struct summary_line *found = NULL;
    for (unsigned i = 0; i < count; i++) {
        if (!lines[i].left_out && (found == NULL || lines[i].weight >= found->weight)) {
            found = &lines[i];
        }
    }
    return found;
}

/* Returns how many lines are left out, so that the rest fits with a line that says so. */
static unsigned choose(unsigned most_rows)
{
    unsigned rows = 0, left_out = 0;
    for (unsigned i = 0; i < count; i++) {
        rows += lines[i].rows;
    }
    while (rows + (left_out > 0 ? 1 : 0) > most_rows) {
        struct summary_line *line = lightest();
        line->left_out = true;
        rows -= line->rows;
        left_out++;
    }
    return left_out;
}

void lines_print(FILE *out, unsigned most_rows)
{
    unsigned left_out = most_rows > 1 ? choose(most_rows) : 0;
    for (unsigned i = 0; i < count; i++) {
        if (!lines[i].left_out && (i == 0 || most_rows != 1)) {
            fprintf(out, "%s\n", lines[i].text);
        }
        free(lines[i].text);
    }
    if (left_out > 0) {
        fprintf(out, "  (%u %s did not fit: `stoker last` has all, and so has --verbose)\n",
                left_out, plural(left_out, "line", "lines"));
    }
    count = 0;
}
