#include "cli/report/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/out/say.h"

/* The assembler puts the file's bytes here. The Makefile names the file as what this object depends
 * on. */
__asm__(".section .rodata, \"a\"\n"
        ".global page_template\n"
        "page_template:\n"
        ".incbin \"cli/report/page.html\"\n"
        ".byte 0\n"
        ".previous\n");
extern const char page_template[];

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
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) {
        die("the report's page: out of memory");
    }
    fwrite(page_template, 1, (size_t)(place - page_template), out);
    put_json(out, json);
    fputs(place + strlen(PLACE), out);
    if (fclose(out) != 0) {
        die("the report's page: out of memory");
    }
    return text;
}
