/* A group's parts, one behind the other, as docs/coefficient-form.md has them. */
#include "decode/form/pack.h"

#include <stdlib.h>
#include <string.h>

static bool make_room(struct stk_packer *packer, size_t more)
{
    size_t wanted = packer->used + more;
    if (wanted <= packer->room) {
        return true;
    }
    wanted += wanted / 2;
    uint8_t *data = realloc(packer->data, wanted);
    if (data) {
        packer->data = data;
        packer->room = wanted;
    }
    return data;
}

bool stk_packer_begin(struct stk_packer *packer, const struct stk_form_view *view, size_t guess)
{
    packer->view = *view;
    packer->head = stk_form_head_bytes(view);
    packer->used = 0;
    packer->groups = 0;
    if (packer->head == 0 || !make_room(packer, packer->head + guess)) {
        return false;
    }
    uint8_t *index = stk_form_write_head(packer->data, view, 0);
    packer->index = (size_t)(index - packer->data);
    packer->used = packer->head;
    return true;
}

/* The most that its parts may take, with what the kernels write too far. */
static size_t most_bytes(const struct stk_group *group)
{
    size_t planes = 2 * STK_FORM_LEVELS * (stk_plane_bytes(group->count) + 1);
    return (size_t)group->blocks * (1 + 8 + 1 + 2) + planes + 2 * (size_t)group->count +
           STK_PLANES_SLACK;
}

static uint8_t *put_dc(const struct stk_packer *packer, uint8_t *at)
{
    const struct stk_group *group = &packer->group;
    const int8_t *bytes = (const int8_t *)at;
    size_t escapes = packer->kernels->pack_dc((int8_t *)at, group->dc, group->blocks);
    at += group->blocks;
    for (size_t i = 0; escapes > 0; i++) {
        if (bytes[i] == STK_DC_ESCAPE) {
            stk_put_little(at, (uint16_t)group->dc[i], 2);
            at += 2;
            escapes--;
        }
    }
    return at;
}

/* Level by level; each one's values that go on are in the one memory, then in the other. */
static uint8_t *put_planes(struct stk_packer *packer, uint8_t *at)
{
    const struct stk_form_kernels *kernels = packer->kernels;
    uint8_t *from = packer->levels[1].data, *to = packer->levels[0].data;
    size_t count = packer->group.count, plane = stk_plane_bytes(count);
    count = kernels->pack_signs(at, at + plane, to, packer->group.values, count);
    at += 2 * plane;
    for (int level = 1; level < STK_FORM_LEVELS && count > 0; level++) {
        uint8_t *other = from;
        from = to;
        to = other;
        plane = stk_plane_bytes(count);
        bool last = level == STK_FORM_LEVELS - 1;
        count = kernels->pack_bits(at, last ? NULL : at + plane, to, from, count);
        at += last ? plane : 2 * plane;
    }
    return at;
}

/* What the largest values of a byte really are. */
static uint8_t *put_escapes(const struct stk_packer *packer, uint8_t *at)
{
    const struct stk_group *group = &packer->group;
    const struct stk_wide *wide = group->wide;
    size_t left = packer->kernels->count_largest(group->values, group->count);
    for (uint32_t i = 0; left > 0; i++) {
        int value = (int)group->values[i];
        if (value != STK_GROUP_LARGEST && value != -STK_GROUP_LARGEST) {
            continue;
        }
        if (wide->at == i) {
            value = wide++->value;
        }
        stk_put_little(at, (uint16_t)value, 2);
        at += 2;
        left--;
    }
    return at;
}

bool stk_packer_add(struct stk_packer *packer)
{
    struct stk_group *group = &packer->group;
    size_t halves = ((size_t)group->blocks + 1) / 2;
    if (!make_room(packer, most_bytes(group)) ||
        !stk_room_get(&packer->levels[0], group->count + STK_PLANES_SLACK) ||
        !stk_room_get(&packer->levels[1], group->count + STK_PLANES_SLACK)) {
        return false;
    }
    uint8_t *at = packer->data + packer->used;
    size_t masks = packer->kernels->pack_masks(at, at + halves, group->masks, group->blocks);
    at = put_dc(packer, at + halves + masks);
    at = put_planes(packer, at);
    at = put_escapes(packer, at);
    packer->used = (size_t)(at - packer->data);
    size_t end = packer->used - packer->head;
    if (packer->groups == packer->view.group_count || end > UINT32_MAX / 2) {
        return false;
    }
    stk_put_little(packer->data + packer->index + 4 * (size_t)packer->groups++, end, 4);
    return true;
}

bool stk_packer_end(struct stk_packer *packer, struct stk_form *out)
{
    if (packer->groups != packer->view.group_count || !make_room(packer, STK_FORM_SLACK)) {
        return false;
    }
    memset(packer->data + packer->used, 0, STK_FORM_SLACK);
    packer->used += STK_FORM_SLACK;
    stk_form_write_head(packer->data, &packer->view, packer->used);
    *out = (struct stk_form){packer->data, packer->used};
    return true;
}

void stk_packer_free(struct stk_packer *packer, size_t but)
{
    stk_group_free(&packer->group, but);
    stk_room_free(&packer->levels[0], but);
    stk_room_free(&packer->levels[1], but);
    if (packer->room > but) {
        free(packer->data);
        packer->data = NULL;
        packer->room = 0;
    }
}
