#include "cli/out/sanitise.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"

/* Returns true for control characters of ASCII, and of Latin-1, which begin with 0xc2 in UTF-8. */
static bool is_control(const unsigned char *at)
{
    return *at < 0x20 || *at == 0x7f || (*at == 0xc2 && at[1] < 0xa0);
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
