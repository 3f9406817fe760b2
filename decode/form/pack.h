/*
 * Makes a form, group by group from above. Its memory stays from one form to the next, and the form
 * in it until the next one begins.
 */
#ifndef STK_DECODE_FORM_PACK_H
#define STK_DECODE_FORM_PACK_H

#include "decode/form/form.h"
#include "decode/form/group.h"
#include "decode/form/planes.h"

struct stk_packer {
    const struct stk_form_kernels *kernels;
    struct stk_group group; /* for the caller, between two calls */
    size_t used, index, head;
    uint32_t groups;
    uint8_t *data; /* `room` bytes */
    size_t room;
    struct stk_room levels[2], places;
    struct stk_form_view view;
};

/* What is in the view but for the groups; `guess` how many bytes the form may have. */
bool stk_packer_begin(struct stk_packer *packer, const struct stk_form_view *view, size_t guess);
/* Appends packer->group. False: no memory, or the form becomes too large. */
bool stk_packer_add(struct stk_packer *packer);
/* After the last group. */
bool stk_packer_end(struct stk_packer *packer, struct stk_form *out);
void stk_packer_free(struct stk_packer *packer, size_t but);

#endif
