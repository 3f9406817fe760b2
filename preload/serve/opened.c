#include "preload/serve/opened.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/least.h"
#include "base/sys.h"
#include "base/text.h"
#include "preload/interpose/guard.h"

static __thread struct stk_opened *noted STK_TLS;

/* The range that was noted last. */
struct noted_range {
    uint32_t record;
    uint64_t offset, end;
    size_t from, to; /* its place among the paths */
};
static __thread struct noted_range range STK_TLS;

void stk_opened_begin(struct stk_opened *opened)
{
    noted = opened;
}

static __attribute__((noinline)) void note(struct stk_opened *opened, const struct stk_place *place)
{
    size_t used = opened->used;
    struct stk_text path = stk_text_in(opened->paths + used, opened->room - used);
    stk_text_add(&path, place->root->prefix);
    stk_text_add_char(&path, '/');
    stk_text_add(&path, place->below);
    if (!path.cut) {
        opened->used = used + path.used + 1;
    }
}

void stk_opened_note(const struct stk_place *place)
{
    if (noted != NULL && noted->used < noted->room) {
        note(noted, place);
    }
}

/* ---- ranges ---- */

/* Returns the file's path below the root, or NULL if it is unknown. */
static const char *below_of(const struct stk_big *big)
{
    const char *mark = strstr(big->blocks.table->origin, "//");
    return mark != NULL ? mark + 2 : NULL;
}

static void write_range(struct stk_opened *opened, const struct stk_big *big, const char *below)
{
    struct stk_text text = stk_text_in(opened->paths + range.from, opened->room - range.from);
    stk_text_add(&text, big->root->prefix);
    stk_text_add_char(&text, '/');
    stk_text_add(&text, below);
    stk_text_add(&text, "//");
    stk_text_add_number(&text, range.offset);
    stk_text_add_char(&text, '+');
    stk_text_add_number(&text, range.end - range.offset);
    if (!text.cut) {
        opened->used = range.to = range.from + text.used + 1;
    }
}

static bool goes_on(const struct stk_opened *opened, const struct stk_big *big, uint64_t offset)
{
    return opened->used > 0 && range.to == opened->used && range.record == big->record &&
           range.end == offset;
}

static __attribute__((noinline)) void
note_range(struct stk_opened *opened, const struct stk_big *big, uint64_t offset, uint64_t bytes)
{
    const char *below = below_of(big);
    uint64_t size = big->blocks.size;
    if (below == NULL || offset >= size) {
        return;
    }
    if (!goes_on(opened, big, offset)) {
        range = (struct noted_range){big->record, offset, offset, opened->used, 0};
    }
    range.end = offset + stk_least(bytes, size - offset);
    write_range(opened, big, below);
}

void stk_opened_note_range(const struct stk_big *big, int fd, int64_t offset, uint64_t bytes)
{
    if (noted == NULL || noted->used >= noted->room || atomic_load(&big->blocks.table->whole)) {
        return;
    }
    int64_t from = offset < 0 ? stk_sys_lseek(fd, 0, SEEK_CUR) : offset;
    if (from >= 0) {
        note_range(noted, big, (uint64_t)from, bytes);
    }
}
