/* Writing JSON strings. See cli/json.h. */
#include "cli/json.h"

#include <stdbool.h>

/* Behind which first byte a second one is bounded more tightly: no longer spelling of a shorter
 * sequence, no surrogate, nothing above U+10FFFF. */
static bool is_second(unsigned char first, unsigned char second)
{
    unsigned char least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    return second >= least && second <= most;
}

int json_sequence(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    int length = *at < 0x80                  ? 1
                 : *at >= 0xc2 && *at < 0xe0 ? 2
                 : *at >= 0xe0 && *at < 0xf0 ? 3
                 : *at >= 0xf0 && *at < 0xf5 ? 4
                                             : 0;
    if (length > 1 && !is_second(at[0], at[1])) {
        return 0;
    }
    for (int i = 2; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return length;
}

void json_string(FILE *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    fputc('"', out);
    while (*at != '\0') {
        int length = json_sequence((const char *)at);
        if (*at < 0x20 || length == 0 || *at == 0x7f) {
            fprintf(out, "\\u%04x", *at++);
        } else if (*at == '"' || *at == '\\') {
            fprintf(out, "\\%c", *at++);
        } else {
            fwrite(at, 1, (size_t)length, out);
            at += length;
        }
    }
    fputc('"', out);
}

void json_strings(FILE *out, char *const *texts, unsigned count)
{
    fputc('[', out);
    for (unsigned i = 0; i < count; i++) {
        fputs(i > 0 ? ", " : "", out);
        json_string(out, texts[i]);
    }
    fputc(']', out);
}

unsigned json_count(char *const *texts)
{
    unsigned count = 0;
    while (texts[count] != NULL) {
        count++;
    }
    return count;
}
