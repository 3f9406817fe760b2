/* Text as one word of a shell's command line. See cli/word.h. */
#include "cli/word.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "cli/say.h"
#include "cli/summary_lines.h"

char *word_quoted(const char *text)
{
    char *quoted = must_copy("'");
    for (const char *quote; (quote = strchr(text, '\'')) != NULL; text = quote + 1) {
        quoted = must_append(quoted, "%.*s'\\''", (int)(quote - text), text);
    }
    return must_append(quoted, "%s'", text);
}

/* Bytes of UTF-8 are letters to a shell. */
static bool is_plain(const char *text)
{
    while (*text != '\0' && (isalnum((unsigned char)*text) || (unsigned char)*text >= 0x80 ||
                             strchr("/._-+,:=@%", *text) != NULL)) {
        text++;
    }
    return *text == '\0';
}

char *word_of(const char *text)
{
    char *word = is_plain(text) ? must_copy(text) : word_quoted(text);
    for (char *at = word; (at = strchr(at, ' ')) != NULL;) {
        *at = *LINES_KEEP;
    }
    return word;
}
