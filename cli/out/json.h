/*
 * Writing JSON, a member after the other. The writer places commas and closes what was opened. Each
 * member of the outermost object stands on a line of its own, and so does each object or list in a
 * list. Bytes that are not UTF-8 (paths may hold any) are written as \u00XX. A member that had
 * another name is written under both (cli/out/older_names.h). For one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_DEPTH 8

struct json {
    FILE *out;
    unsigned depth; /* of open objects and lists */
    struct json_level {
        bool list, any, lines; /* lines: an element stands on a line of its own */
        struct json_twice {    /* of a member that is written under two names */
            const char *older; /* NULL: under one */
            bool nests;
            char *value;
            size_t bytes;
            FILE *out; /* where the value goes in the end */
        } twice;
    } levels[JSON_DEPTH];
};

/* Begins the outermost object, or list. Errors are the stream's (ferror). */
struct json json_begin(FILE *out);
struct json json_begin_list(FILE *out);
/* Ends what was begun, with a newline. */
void json_finish(struct json *json);

/* Each of these writes one value: a member of this name, or an element of a list if the name is
 * NULL. */
void json_object(struct json *json, const char *name); /* until json_end() */
void json_list(struct json *json, const char *name);   /* until json_end() */
void json_end(struct json *json);
void json_count(struct json *json, const char *name, uint64_t value);
void json_integer(struct json *json, const char *name, int64_t value);
void json_number(struct json *json, const char *name, double value, int decimals);
/* Writes nanoseconds as seconds. */
void json_seconds(struct json *json, const char *name, uint64_t ns);
void json_bool(struct json *json, const char *name, bool value);
/* Writes a string, or null for NULL. */
void json_text(struct json *json, const char *name, const char *text);
/* Writes a list of strings. */
void json_texts(struct json *json, const char *name, char *const *texts, unsigned count);
