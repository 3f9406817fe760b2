/* Messages to people. All go to stderr and begin with "stoker: ". In the whole project, only this
 * file prints or exits. */
#pragma once

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#define STK_EXIT_USAGE 2

void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints one line of any length, with its newline and without terminal control characters
 * (cli/out/sanitise.h). Use it for every line that holds file names or a user's words. */
void say_line(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints the message and exits with status 2: the request cannot be met, and nothing was
 * started. */
#define die(...) die_with(STK_EXIT_USAGE, __VA_ARGS__)
/* Does what die() does, for a wrong argument: the message names the help page of the verb. */
void die_wrong(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Returns the verb's option, without its dashes, that was meant by a mistyped word, or NULL. */
typedef const char *say_nearest_option(const char *verb, const char *word);
/* Sets the verb whose arguments are parsed from here on, and the function that guesses its options.
 * The name stays the caller's. */
void say_verb(const char *name, say_nearest_option *nearest);
/* Does what die_wrong() does, for an argument that is no option. Asks about the option that was
 * meant, or, if none is near, prints the hint behind the argument. */
void die_of_option(const char *argument, const char *hint) __attribute__((noreturn));
/* Does what die() does, with another status. */
void die_with(int status, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));

/* Writes a size such as "1.5 GiB" into the caller's buffer, and returns the buffer. */
#define STK_SIZE_TEXT 32
const char *size_text(char out[STK_SIZE_TEXT], uint64_t bytes);
/* Returns `one` for a count of 1, and else `more`. */
const char *plural(uint64_t count, const char *one, const char *more);
/* A count with its noun, "5 files": in a format, and among its arguments. */
#define COUNTED                    "%" PRIu64 " %s"
#define COUNT_OF(count, one, more) (count), plural(count, one, more)
/* Returns 0 if `whole` is 0. */
double percent(double part, double whole);

/* Has memory freed when the block of its variable is left, on each way but exit(). Stands in front
 * of a declaration that sets the variable: OWNED char *text = must_copy(""). Memory that is
 * returned or kept must not be owned. */
#define OWNED __attribute__((cleanup(owned_free)))
void owned_free(void *variable);

/* Returns a copy of the string. Exits with a message if there is no memory. The caller frees. */
char *must_copy(const char *text);
/* Returns memory of zeros. Exits with a message if there is no memory. The caller frees. */
void *must_allocate(size_t bytes);
/* Do what realloc() and open_memstream() do. Exit with a message if there is no memory. */
void *must_resize(void *memory, size_t bytes);
FILE *must_open_text(char **text, size_t *bytes);
/* Do what asprintf() and vasprintf() do. Exit with a message if there is no memory. The caller
 * frees. */
char *must_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *must_format_all(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));
/* Does the same in a function whose last arguments are `format` and what belongs to it. */
#define MUST_FORMAT_REST(format)                                                                   \
    ({                                                                                             \
        va_list rest_;                                                                             \
        va_start(rest_, format);                                                                   \
        char *formatted_ = must_format_all(format, rest_);                                         \
        va_end(rest_);                                                                             \
        formatted_;                                                                                \
    })
/* Sets a variable of the environment. Exits with a message if there is no memory. */
void must_set(const char *variable, const char *value);
/* Frees `text`, and returns it with the formatted text behind it. The caller frees. */
char *must_append(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
