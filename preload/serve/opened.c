#include "preload/serve/opened.h"

#include "base/text.h"
#include "preload/interpose/guard.h"

static __thread struct stk_opened *noted STK_TLS;

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
