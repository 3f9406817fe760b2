#include "cli/out/json.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "cli/out/older_names.h"
#include "cli/out/say.h"

static void put_string(FILE *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    fputc('"', out);
    while (*at != '\0') {
        int length = stk_text_sequence((const char *)at);
        if (*at < 0x20 || length == 0 || *at == 0x7f) {
            fprintf(out, "\\u%04x", *at++);
        } else if (*at == 0xc2 &&
                   at[1] < 0xa0) { /* U+0080 to U+009f, whose second byte has the code */
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

static void put_line(struct json *json)
{
    fprintf(json->out, "\n%*s", 2 * (int)json->depth, "");
}

/* Puts what stands before a value: a comma, a blank or a new line, and the name. */
static void put_place(struct json *json, const char *name, bool nests)
{
    struct json_level *level = &json->levels[json->depth];
    bool line = json->depth == 1 || (nests && level->list);
    if (level->any) {
        fputc(',', json->out);
    }
    if (line) {
        put_line(json);
        level->lines = true;
    } else if (level->any) {
        fputc(' ', json->out);
    }
    level->any = true;
    if (name != NULL) {
        put_string(json->out, name);
        fputs(": ", json->out);
    }
}

/* Begins a value. One that has two names is gathered in memory first. */
static void begin_value(struct json *json, const char *name, bool nests)
{
    struct json_twice *twice = &json->levels[json->depth].twice;
    put_place(json, name, nests);
    twice->older = name != NULL ? older_name(name) : NULL;
    if (twice->older != NULL) {
        twice->nests = nests;
        twice->out = json->out;
        json->out = must_open_text(&twice->value, &twice->bytes);
    }
}

static void end_value(struct json *json)
{
    struct json_twice *twice = &json->levels[json->depth].twice;
    if (twice->older != NULL) {
        fclose(json->out);
        json->out = twice->out;
        fputs(twice->value, json->out);
        put_place(json, twice->older, twice->nests);
        fputs(twice->value, json->out);
        free(twice->value);
        twice->older = NULL;
    }
}

static void open_level(struct json *json, bool list)
{
    fputc(list ? '[' : '{', json->out);
    json->levels[++json->depth] = (struct json_level){.list = list};
}

static void close_level(struct json *json)
{
    const struct json_level *level = &json->levels[json->depth--];
    if (level->lines) {
        put_line(json);
    }
    fputc(level->list ? ']' : '}', json->out);
}

struct json json_begin(FILE *out)
{
    struct json json = {.out = out};
    open_level(&json, false);
    return json;
}

struct json json_begin_list(FILE *out)
{
    struct json json = {.out = out};
    open_level(&json, true);
    return json;
}

void json_finish(struct json *json)
{
    close_level(json);
    fputc('\n', json->out);
}

void json_object(struct json *json, const char *name)
{
    begin_value(json, name, true);
    open_level(json, false);
}

void json_list(struct json *json, const char *name)
{
    begin_value(json, name, true);
    open_level(json, true);
}

void json_end(struct json *json)
{
    close_level(json);
    end_value(json);
}

void json_count(struct json *json, const char *name, uint64_t value)
{
    begin_value(json, name, false);
    fprintf(json->out, "%" PRIu64, value);
    end_value(json);
}

void json_integer(struct json *json, const char *name, int64_t value)
{
    begin_value(json, name, false);
    fprintf(json->out, "%" PRId64, value);
    end_value(json);
}

void json_number(struct json *json, const char *name, double value, int decimals)
{
    begin_value(json, name, false);
    fprintf(json->out, "%.*f", decimals, value);
    end_value(json);
}

void json_seconds(struct json *json, const char *name, uint64_t ns)
{
    json_number(json, name, (double)ns / 1e9, 6);
}

void json_bool(struct json *json, const char *name, bool value)
{
    begin_value(json, name, false);
    fputs(value ? "true" : "false", json->out);
    end_value(json);
}

void json_text(struct json *json, const char *name, const char *text)
{
    begin_value(json, name, false);
    if (text != NULL) {
        put_string(json->out, text);
    } else {
        fputs("null", json->out);
    }
    end_value(json);
}

void json_texts(struct json *json, const char *name, char *const *texts, unsigned count)
{
    json_list(json, name);
    for (unsigned i = 0; i < count; i++) {
        json_text(json, NULL, texts[i]);
    }
    json_end(json);
}
