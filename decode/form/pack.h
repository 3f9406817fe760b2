/*
 * Packs a form, group by group from above. The memory stays from one form to the next, and the form
 * stays in it until the next one begins.
 */
#pragma once

#include "decode/form/form.h"
#include "decode/form/form_group.h"
#include "decode/kernels/planes.h"

struct stk_packer {
    const struct stk_form_kernels *kernels;
    struct stk_form_group group; /* for the caller, between two calls */
    size_t used, index, head;
    uint32_t groups;
    uint8_t *data; /* `room` bytes */
    size_t room;
    struct stk_array levels[2], places;
    struct stk_form_view view;
};

/* Begins a form with all of the view but the groups. `guess` is the expected size in bytes. */
bool stk_packer_begin(struct stk_packer *packer, const struct stk_form_view *view, size_t guess);
/* Appends packer->group. Returns false if there is no memory or the form becomes too large. */
bool stk_packer_add(struct stk_packer *packer);
/* Ends the form, after the last group. */
bool stk_packer_end(struct stk_packer *packer, struct stk_form *out);
void stk_packer_free(struct stk_packer *packer, size_t but);
