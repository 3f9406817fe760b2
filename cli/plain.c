/* Plain lines. See cli/plain.h. */
#include "cli/plain.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"

/* Those of ASCII, and those of Latin-1, which begin with 0xc2 in UTF-8. */
static bool is_control(const unsigned char *at)
{
    return *at < 0x20 || *at == 0x7f || (*at == 0xc2 && at[1] < 0xa0);
}

char *plain_line_but(char *text, char kept)
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

char *plain_line(char *text)
{
    return plain_line_but(text, '\0');
}
