/* A group's parts, one behind the other, as docs/coefficient-form.md has them. */
#include "decode/form/pack.h"

#include <stdlib.h>
#include <string.h>

#include "decode/common/little.h"

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

/* Bytes of planes and escapes, for each value. */
#define MOST_BYTES_A_VALUE 4

/* The most that its parts may take, with what the kernels write too far. */
static size_t most_bytes(const struct stk_form_group *group)
{
    size_t each_block = 1 + 8 + 1 + MOST_BYTES_A_VALUE;
    return (size_t)group->blocks * each_block + (size_t)group->count * MOST_BYTES_A_VALUE +
           4 * STK_PLANES_SLACK;
}

static uint8_t *put_masks(struct stk_packer *packer, uint8_t *at)
{
    const struct stk_form_group *group = &packer->group;
    uint8_t *halves = packer->levels[0].data, *whole = at + ((size_t)group->blocks + 1) / 2;
    struct stk_mask_bytes done =
        packer->kernels->pack_masks(at, whole, halves, group->masks, group->blocks);
    size_t bytes = (done.halves + 1) / 2;
    memcpy(whole + done.whole, halves, bytes);
    return whole + done.whole + bytes;
}

/* Level by level; each one's values that go on are in the one memory, then in the other. */
static uint8_t *put_levels(struct stk_packer *packer, uint8_t *at, const int8_t *values,
                           size_t count)
{
    const struct stk_form_kernels *kernels = packer->kernels;
    size_t plane = stk_plane_bytes(count);
    count = kernels->pack_signs(at, at + plane, packer->levels[0].data, values, count);
    at += 2 * plane;
    for (int level = 1; level < STK_FORM_LEVELS && count > 0; level++) {
        bool last = level == STK_FORM_LEVELS - 1;
        plane = stk_plane_bytes(count);
        count = kernels->pack_bits(at, last ? NULL : at + plane, packer->levels[level % 2].data,
                                   packer->levels[(level + 1) % 2].data, count);
        at += last ? plane : 2 * plane;
    }
    return at;
}

static uint8_t *put_dc(struct stk_packer *packer, uint8_t *at)
{
    const struct stk_form_group *group = &packer->group;
    const int8_t *values = group->dc_values;
    packer->kernels->pack_dc(at, group->dc_values, group->dc, group->blocks);
    at += STK_DC_PLANES * stk_plane_bytes(group->blocks);
    at = put_levels(packer, at, values, group->blocks);
    uint32_t *places = packer->places.data;
    size_t escapes = packer->kernels->find_largest(places, values, group->blocks);
    for (size_t i = 0; i < escapes; i++, at += 2) {
        stk_put_little(at, (uint16_t)group->dc[places[i]], 2);
    }
    return at;
}

/* Writes the true values of those that are the largest of a byte. */
static uint8_t *put_escapes(const struct stk_packer *packer, uint8_t *at)
{
    const struct stk_form_group *group = &packer->group;
    const struct stk_wide *wide = group->wide;
    uint32_t *places = packer->places.data;
    size_t escapes = packer->kernels->find_largest(places, group->values, group->count);
    for (size_t i = 0; i < escapes; i++, at += 2) {
        uint32_t place = places[i];
        int value = (int)group->values[place];
        if (wide->at == place) {
            value = wide->value;
            wide++;
        }
        stk_put_little(at, (uint16_t)value, 2);
    }
    return at;
}

static bool reserve(struct stk_packer *packer)
{
    const struct stk_form_group *group = &packer->group;
    size_t most = group->count > group->blocks ? group->count : group->blocks;
    return make_room(packer, most_bytes(group)) &&
           stk_array_get(&packer->levels[0], most + STK_PLANES_SLACK) &&
           stk_array_get(&packer->levels[1], most + STK_PLANES_SLACK) &&
           stk_array_get(&packer->places, (most + 2) * sizeof(uint32_t));
}

bool stk_packer_add(struct stk_packer *packer)
{
    const struct stk_form_group *group = &packer->group;
    if (packer->groups == packer->view.group_count || !reserve(packer)) {
        return false;
    }
    uint8_t *at = put_masks(packer, packer->data + packer->used);
    at = put_dc(packer, at);
    at = put_levels(packer, at, group->values, group->count);
    at = put_escapes(packer, at);
    packer->used = (size_t)(at - packer->data);
    size_t end = packer->used - packer->head;
    stk_put_little(packer->data + packer->index + 4 * (size_t)packer->groups++, end, 4);
    return end <= UINT32_MAX / 2;
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
    stk_form_group_free(&packer->group, but);
    stk_array_free(&packer->levels[0], but);
    stk_array_free(&packer->levels[1], but);
    stk_array_free(&packer->places, but);
    if (packer->room > but) {
        free(packer->data);
        packer->data = NULL;
        packer->room = 0;
    }
}
