/* Writing JSON strings. See cli/json.h. */
#include "cli/json.h"

#include "base/text.h"

void json_string(FILE *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    fputc('"', out);
    while (*at != '\0') {
        int length = stk_text_sequence((const char *)at);
        if (*at < 0x20 || length == 0 || *at == 0x7f) {
            fprintf(out, "\\u%04x", *at++);
        } else if (*at == 0xc2 && at[1] < 0xa0) { /* U+0080 to U+009f, which end in that byte */
            fprintf(out, "\\u%04x", at[1]);
            at += length;
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
