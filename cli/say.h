/* Messages to people, all on stderr, all beginning with "stoker: ". Only here does the project
 * print or exit. */
#ifndef STK_CLI_SAY_H
#define STK_CLI_SAY_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#define STK_EXIT_USAGE 2

void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints one line of any length, with its end, and without control characters for a terminal
 * (cli/plain.h). For every line that holds names of files or a user's words. */
void say_line(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Says it and exits with status 2: what was asked cannot be done, and nothing was started. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Of a wrong argument: the same, and which help tells of the right ones. */
void die_wrong(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Whose arguments are read from here on; the name stays the caller's. */
void say_verb(const char *name);
/* As die, with another status. */
void die_with(int status, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));

/* "1.5 GiB", into a buffer of the caller's, which is returned. */
#define STK_SIZE_TEXT 32
const char *size_text(char out[STK_SIZE_TEXT], uint64_t bytes);
/* Of nothing everything is 0%. */
double percent(double part, double whole);

/* A copy of a string, or a message and exit when there is no memory. The caller frees. */
char *must_copy(const char *text);
/* Memory of zeros, likewise. */
void *must_allocate(size_t bytes);
/* asprintf that never fails, and vasprintf. */
char *must_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *must_format_all(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));
/* The text with more behind it, in the place of the text, which is freed. */
char *must_append(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
