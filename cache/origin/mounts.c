#include "cache/origin/mounts.h"

#include <fcntl.h>
#include <string.h>

#include "base/sys.h"
#include "base/text.h"

#define BUFFER_BYTES       (64u << 10)
#define FIELDS_BEFORE_TYPE 5

static bool is_octal(char c, char largest)
{
    return c >= '0' && c <= largest;
}

/* Undoes "\040" and its like in place. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; to++) {
        if (from[0] == '\\' && is_octal(from[1], '3') && is_octal(from[2], '7') &&
            is_octal(from[3], '7')) {
            *to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/* Cuts the next blank-separated field off; NULL at the end of the line. */
static char *take_field(char **line)
{
    char *field = *line;
    if (field == NULL || *field == '\0') {
        return NULL;
    }
    char *blank = strchr(field, ' ');
    if (blank != NULL) {
        *blank++ = '\0';
    }
    *line = blank;
    return field;
}

/* "36 35 98:0 /root /point options optional... - type source options" */
static void visit_line(char *line, stk_mount_visitor *visit, void *context)
{
    char *fields[FIELDS_BEFORE_TYPE];
    for (int i = 0; i < FIELDS_BEFORE_TYPE; i++) {
        fields[i] = take_field(&line);
    }
    char *dash = line != NULL ? strstr(line, "- ") : NULL;
    if (fields[4] == NULL || dash == NULL) {
        return;
    }
    line = dash + 2;
    char *type = take_field(&line);
    char *source = take_field(&line);
    char *options = take_field(&line);
    if (type != NULL && source != NULL) {
        unescape(fields[3]);
        unescape(fields[4]);
        unescape(source);
        struct stk_mount mount = {0,    fields[4], fields[3],
                                  type, source,    options != NULL ? options : ""};
        const char *id = fields[0];
        stk_text_take_number(&id, &mount.id);
        visit(context, &mount);
    }
}

/* Visits the whole lines in the buffer; returns how many bytes they took. */
static size_t visit_lines(char *buffer, size_t bytes, stk_mount_visitor *visit, void *context)
{
    size_t done = 0;
    for (;;) {
        char *end = memchr(buffer + done, '\n', bytes - done);
        if (end == NULL) {
            return done;
        }
        *end = '\0';
        visit_line(buffer + done, visit, context);
        done = (size_t)(end - buffer) + 1;
    }
}

static void visit_table(int fd, char *buffer, stk_mount_visitor *visit, void *context)
{
    size_t held = 0;
    for (;;) {
        ssize_t got = stk_sys_read(fd, buffer + held, BUFFER_BYTES - held);
        if (got <= 0) {
            return;
        }
        held += (size_t)got;
        size_t done = visit_lines(buffer, held, visit, context);
        held -= done;
        memmove(buffer, buffer + done, held);
        if (held == BUFFER_BYTES) {
            held = 0; /* a line longer than any mount has: pass over it */
        }
    }
}

bool stk_mounts_visit(stk_mount_visitor *visit, void *context)
{
    STK_OWNED_FD int fd = stk_sys_openat(AT_FDCWD, "/proc/self/mountinfo", O_RDONLY | O_CLOEXEC, 0);
    char *buffer = stk_sys_memory(BUFFER_BYTES);
    bool readable = fd >= 0 && buffer != NULL;
    if (readable) {
        visit_table(fd, buffer, visit, context);
    }
    stk_sys_munmap(buffer, BUFFER_BYTES);
    return readable;
}
