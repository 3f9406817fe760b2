#include "cli/out/json.h"

#include <inttypes.h>

#include "base/text.h"

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

static void open_level(struct json *json, bool list)
{
    fputc(list ? '[' : '{', json->out);
    json->levels[++json->depth] = (struct json_level){.list = list};
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
    json_end(json);
    fputc('\n', json->out);
}

void json_object(struct json *json, const char *name)
{
    put_place(json, name, true);
    open_level(json, false);
}

void json_list(struct json *json, const char *name)
{
    put_place(json, name, true);
    open_level(json, true);
}

void json_end(struct json *json)
{
    const struct json_level *level = &json->levels[json->depth--];
    if (level->lines) {
        put_line(json);
    }
    fputc(level->list ? ']' : '}', json->out);
}

void json_count(struct json *json, const char *name, uint64_t value)
{
    put_place(json, name, false);
    fprintf(json->out, "%" PRIu64, value);
}

void json_integer(struct json *json, const char *name, int64_t value)
{
    put_place(json, name, false);
    fprintf(json->out, "%" PRId64, value);
}

void json_number(struct json *json, const char *name, double value, int decimals)
{
    put_place(json, name, false);
    fprintf(json->out, "%.*f", decimals, value);
}

void json_seconds(struct json *json, const char *name, uint64_t ns)
{
    json_number(json, name, (double)ns / 1e9, 6);
}

void json_bool(struct json *json, const char *name, bool value)
{
    put_place(json, name, false);
    fputs(value ? "true" : "false", json->out);
}

void json_text(struct json *json, const char *name, const char *text)
{
    put_place(json, name, false);
    if (text != NULL) {
        put_string(json->out, text);
    } else {
        fputs("null", json->out);
    }
}

void json_texts(struct json *json, const char *name, char *const *texts, unsigned count)
{
    json_list(json, name);
    for (unsigned i = 0; i < count; i++) {
        json_text(json, NULL, texts[i]);
    }
    json_end(json);
}
