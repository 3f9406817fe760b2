#include "cli/out/sanitise.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"

/* Returns true for U+2028 to U+202E and U+2066 to U+2069, which break a line, or turn it around. */
static bool is_layout(const unsigned char *at)
{
    return at[0] == 0xe2 && ((at[1] == 0x80 && at[2] >= 0xa8 && at[2] <= 0xae) ||
                             (at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9));
}

/* Returns true for control characters of ASCII, and of Latin-1, which begin with 0xc2 in UTF-8. */
static bool is_control(const unsigned char *at)
{
    return *at < 0x20 || *at == 0x7f || (*at == 0xc2 && at[1] < 0xa0) || is_layout(at);
}

char *sanitise_line_but(char *text, char kept)
{
    char *to = text;
    for (const char *at = text; *at != '\0';) {
        int length = stk_text_sequence(at), taken = length > 0 ? length : 1;
        if (length == 0 || (*at != kept && is_control((const unsigned char *)at))) {
            *to++ = '?';
        } else {
            memmove(to, at, (size_t)length);
            to += length;
        }
        at += taken;
    }
    *to = '\0';
    return text;
}

char *sanitise_line(char *text)
{
    return sanitise_line_but(text, '\0');
}
