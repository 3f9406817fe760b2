#include "cli/report/page.h"

#include <stdio.h>
#include <string.h>

#include "base/embedded.h"
#include "cli/out/say.h"

EMBEDDED_TEXT(page_template, "cli/report/page.html")

#define PLACE "@RECORD@" /* of the JSON in the page's template */

/* Writes JSON that no HTML parser takes for a tag: "<" occurs in strings only, where it is
 * escaped. */
static void put_json(FILE *out, const char *json)
{
    for (; *json != '\0'; json++) {
        if (*json == '<') {
            fputs("\\u003c", out);
        } else {
            fputc(*json, out);
        }
    }
}

char *page_of(const char *json)
{
    char *text = NULL;
    size_t bytes;
    const char *place = strstr(page_template, PLACE);
    FILE *out = must_open_text(&text, &bytes);
    fwrite(page_template, 1, (size_t)(place - page_template), out);
    put_json(out, json);
    fputs(place + strlen(PLACE), out);
    if (fclose(out) != 0) {
        die("the report's page: out of memory");
    }
    return text;
}
