#include "cli/out/shell_quote.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "cli/out/say.h"
#include "cli/out/break_text.h"

char *shell_quote_always(const char *text)
{
    char *quoted = must_copy("'");
    for (const char *quote; (quote = strchr(text, '\'')) != NULL; text = quote + 1) {
        quoted = must_append(quoted, "%.*s'\\''", (int)(quote - text), text);
    }
    return must_append(quoted, "%s'", text);
}

/* Returns true if a shell reads the text as it is. Bytes of UTF-8 count as letters. */
static bool is_plain(const char *text)
{
    while (*text != '\0' && (isalnum((unsigned char)*text) || (unsigned char)*text >= 0x80 ||
                             strchr("/._-+,:=@%", *text) != NULL)) {
        text++;
    }
    return *text == '\0';
}

char *shell_quote(const char *text)
{
    char *word = is_plain(text) ? must_copy(text) : shell_quote_always(text);
    for (char *at = word; (at = strchr(at, ' ')) != NULL;) {
        *at = *BREAK_KEEP;
    }
    return word;
}
