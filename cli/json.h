/* Writing JSON strings. Bytes that are not UTF-8 (paths may hold any) are written as \u00XX. */
#ifndef STK_CLI_JSON_H
#define STK_CLI_JSON_H

#include <stdio.h>

void json_string(FILE *out, const char *text);
void json_strings(FILE *out, char *const *texts, unsigned count);
/* The length of a NULL-terminated list. */
unsigned json_count(char *const *texts);

#endif
