#include "preload/serve/opened.h"

#include <stdatomic.h>
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

/* Begins a name at this place among the others, with the file's path. */
static struct stk_text begin_name(const struct stk_opened *opened, size_t from,
                                  const struct stk_root *root, const char *below)
{
    struct stk_text path = stk_text_in(opened->paths + from, opened->room - from);
    stk_text_add(&path, root->prefix);
    stk_text_add_char(&path, '/');
    stk_text_add(&path, below);
    return path;
}

static __attribute__((noinline)) void note(struct stk_opened *opened, const struct stk_place *place)
{
    size_t used = opened->used;
    struct stk_text path = begin_name(opened, used, place->root, place->below);
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

static void write_range(struct stk_opened *opened, const struct stk_big *big, const char *below)
{
    struct stk_text text = begin_name(opened, range.from, big->root, below);
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
    const char *below = stk_big_blocks_below(big->blocks.table->origin);
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
