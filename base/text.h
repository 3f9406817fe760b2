/*
 * Builds and parses text without printf and malloc: a bounded builder, and parsers for numbers,
 * sizes and UTF-8. All functions are safe in threads, after fork and in signal handlers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A builder over the caller's buffer. Text that does not fit is dropped, and `cut` says so. */
struct stk_text {
    char *start;
    size_t used, room; /* bytes, `room` including the terminating zero */
    bool cut;
};

/* Starts an empty text in `buffer` of `bytes` > 0. */
struct stk_text stk_text_in(char *buffer, size_t bytes);
/* Each of these appends, and keeps the text zero-terminated. */
void stk_text_add_bytes(struct stk_text *text, const char *bytes, size_t count);
void stk_text_add(struct stk_text *text, const char *string);
void stk_text_add_char(struct stk_text *text, char c);
void stk_text_add_number(struct stk_text *text, uint64_t number);
/* `digits` lower-case hexadecimal digits, leading zeros included. */
void stk_text_add_hex(struct stk_text *text, uint64_t number, unsigned digits);

/* Writes a text as printf would. Knows %s, %lu, %lx and %0Nlx, nothing else. Returns false if the
 * text does not fit, and is cut. */
bool stk_text_print(char *out, size_t bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Copies a string that must fit whole. Returns false (and writes an empty string) if it does
 * not. */
bool stk_text_copy(char *to, size_t bytes, const char *from);

/* Reads decimal digits from *cursor and moves it behind them. Returns false on none or on
 * overflow. */
bool stk_text_take_number(const char **cursor, uint64_t *out);

/* Returns the number behind `name` at the start of a line of `text`; `otherwise` if there is
 * none. */
int64_t stk_text_number_after(const char *text, const char *name, int64_t otherwise);
/* Reads `digits` hexadecimal digits. Returns false if one is missing. */
bool stk_text_take_hex(const char **cursor, unsigned digits, uint64_t *out);
/* Returns the length of the UTF-8 sequence that a string begins with, 1 to 4 bytes (1 at its end,
 * too). Returns 0 if the string begins with none. */
int stk_text_sequence(const char *string);
/* Parses a size such as "60G", "1.5T", "200M" or "4096", in bytes. K M G T P are powers of 1024; an
 * iB or B may follow. Returns 0, or -EINVAL for anything else, or -ERANGE for a size above 2^62. */
int stk_text_parse_size(const char *string, int64_t *out_bytes);
/* Parses seconds such as "2" or "0.05" as nanoseconds. Returns 0 or -EINVAL. */
int stk_text_parse_seconds(const char *string, int64_t *out_ns);
