#include "cli/out/say.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/out/sanitise.h"

static void print(const char *format, va_list arguments)
{
    /* one write, so that lines of several processes do not mix */
    char line[8192];
    int used = snprintf(line, sizeof line, "stoker: ");
    vsnprintf(line + used, sizeof line - (size_t)used - 1, format, arguments);
    strcat(sanitise_line(line), "\n");
    fputs(line, stderr);
}

void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print(format, arguments);
    va_end(arguments);
}

void say_line(FILE *out, const char *format, ...)
{
    OWNED char *line = MUST_FORMAT_REST(format);
    fprintf(out, "%s\n", sanitise_line(line));
}

static const char *verb = "";
static say_nearest_option *nearest_option;

void say_verb(const char *name, say_nearest_option *nearest)
{
    verb = name;
    nearest_option = nearest;
}

void die_wrong(const char *format, ...)
{
    char *what = MUST_FORMAT_REST(format);
    die("%s: see `stoker %s --help`", what, verb);
}

void die_of_option(const char *argument, const char *hint)
{
    char *word = must_copy(argument + strspn(argument, "-"));
    word[strcspn(word, "=")] = '\0';
    const char *meant = nearest_option != NULL ? nearest_option(verb, word) : NULL;
    if (meant != NULL) {
        die_wrong("unknown option %s (did you mean --%s?)", argument, meant);
    }
    die_wrong("unknown option %s%s", argument, hint);
}

void die_with(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print(format, arguments);
    va_end(arguments);
    exit(status);
}

const char *plural(uint64_t count, const char *one, const char *more)
{
    return count == 1 ? one : more;
}

const char *size_text(char out[STK_SIZE_TEXT], uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes;
    unsigned unit = 0;
    while (value >= 1024 && unit < 5) {
        value /= 1024;
        unit++;
    }
    snprintf(out, STK_SIZE_TEXT, unit == 0 || value >= 100 ? "%.0f %s" : "%.1f %s", value,
             units[unit]);
    return out;
}

double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

void owned_free(void *variable)
{
    void *memory;
    memcpy(&memory, variable, sizeof memory);
    free(memory);
}

static void *there(void *memory)
{
    if (memory == NULL) {
        die("out of memory");
    }
    return memory;
}

char *must_copy(const char *text)
{
    return there(strdup(text));
}

void *must_allocate(size_t bytes)
{
    return there(calloc(1, bytes));
}

void *must_resize(void *memory, size_t bytes)
{
    return there(realloc(memory, bytes));
}

FILE *must_open_text(char **text, size_t *bytes)
{
    return there(open_memstream(text, bytes));
}

char *must_format_all(const char *format, va_list arguments)
{
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0) {
        die("out of memory");
    }
    return text;
}

char *must_format(const char *format, ...)
{
    char *text = MUST_FORMAT_REST(format);
    return text;
}

void must_set(const char *variable, const char *value)
{
    if (setenv(variable, value, 1) != 0) {
        die("out of memory");
    }
}

char *must_append(char *text, const char *format, ...)
{
    OWNED char *more = MUST_FORMAT_REST(format);
    char *both = must_format("%s%s", text, more);
    free(text);
    return both;
}
