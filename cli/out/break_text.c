#include "cli/out/break_text.h"

#include <string.h>

static void write_word(FILE *out, const char *word, unsigned length)
{
    for (unsigned i = 0; i < length; i++) {
        fputc(word[i] == *BREAK_KEEP ? ' ' : word[i], out);
    }
}

unsigned break_text(FILE *out, const char *text, unsigned columns, unsigned indent, unsigned column)
{
    unsigned rows = 1;
    while (*text != '\0') {
        unsigned blanks = (unsigned)strspn(text, " ");
        unsigned word = (unsigned)strcspn(text + blanks, " ");
        if (column > 0 && column + blanks + word > columns) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
            rows++;
        } else {
            fprintf(out, "%*s", (int)blanks, "");
            column += blanks;
        }
        write_word(out, text + blanks, word);
        column += word;
        text += blanks + word;
    }
    return rows;
}
