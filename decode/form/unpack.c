/*
 * Nothing in a group says how long its parts are but what stands in those before; each length is
 * compared with what is left before the part is touched.
 */
#include "decode/form/unpack.h"

#include "decode/common/little.h"

/* The rest of the group. */
struct rest {
    const uint8_t *at, *end;
};

/* NULL: there are not that many. */
static const uint8_t *take(struct rest *rest, size_t bytes)
{
    if (bytes > (size_t)(rest->end - rest->at)) {
        return NULL;
    }
    rest->at += bytes;
    return rest->at - bytes;
}

static bool read_masks(struct stk_unpacker *unpacker, struct rest *rest)
{
    struct stk_form_group *group = &unpacker->group;
    const struct stk_form_kernels *kernels = unpacker->kernels;
    const uint8_t *lengths = take(rest, ((size_t)group->blocks + 1) / 2);
    if (!lengths) {
        return false;
    }
    struct stk_mask_bytes bytes = kernels->measure_masks(lengths, group->blocks);
    const uint8_t *whole = take(rest, bytes.whole);
    const uint8_t *halves = whole ? take(rest, (bytes.halves + 1) / 2) : NULL;
    if (!halves) {
        return false;
    }
    group->count =
        (uint32_t)kernels->unpack_masks(group->masks, lengths, whole, halves, group->blocks);
    return true;
}

/* Where the planes of a level are, and how many values it has. */
struct form_level {
    const uint8_t *bits, *flags;
    size_t count;
};

/* How many belong to a level, the flags of the one before it say. */
static bool find_levels(const struct stk_unpacker *unpacker, struct rest *rest, size_t count,
                        struct form_level levels[STK_FORM_LEVELS])
{
    for (int k = 0; k < STK_FORM_LEVELS; k++) {
        size_t plane = stk_plane_bytes(count);
        bool last = k == STK_FORM_LEVELS - 1;
        levels[k] = (struct form_level){.count = count, .bits = take(rest, plane)};
        levels[k].flags = last ? NULL : take(rest, plane);
        if (!levels[k].bits || !(last || levels[k].flags)) {
            return false;
        }
        count = last ? 0 : unpacker->kernels->count_ones(levels[k].flags, count);
    }
    return true;
}

/* From the last level to the first, which is all values. */
static void join_levels(struct stk_unpacker *unpacker,
                        const struct form_level levels[STK_FORM_LEVELS], int8_t *values)
{
    const struct stk_form_kernels *kernels = unpacker->kernels;
    for (int k = STK_FORM_LEVELS - 1; k > 0; k--) {
        if (levels[k].count > 0) {
            kernels->unpack_bits(unpacker->levels[k % 2].data, levels[k].bits, levels[k].flags,
                                 unpacker->levels[(k + 1) % 2].data, levels[k].count);
        }
    }
    kernels->unpack_signs(values, levels[0].bits, levels[0].flags, unpacker->levels[1].data,
                          levels[0].count);
}

/* And where escapes are, and how many. OK, CORRUPT or MEMORY. */
static int read_levels(struct stk_unpacker *unpacker, struct rest *rest, int8_t *values,
                       size_t count, size_t *escapes)
{
    struct form_level levels[STK_FORM_LEVELS];
    if (!find_levels(unpacker, rest, count, levels)) {
        return STK_DECODE_CORRUPT;
    }
    if (!stk_array_get(&unpacker->levels[0], count + STK_PLANES_SLACK) ||
        !stk_array_get(&unpacker->levels[1], count + STK_PLANES_SLACK) ||
        !stk_array_get(&unpacker->places, (count + 2) * sizeof(uint32_t))) {
        return STK_DECODE_MEMORY;
    }
    join_levels(unpacker, levels, values);
    bool large = levels[STK_FORM_LEVELS - 1].count > 0;
    *escapes = large ? unpacker->kernels->find_largest(unpacker->places.data, values, count) : 0;
    return STK_DECODE_OK;
}

static int read_dc(struct stk_unpacker *unpacker, struct rest *rest)
{
    struct stk_form_group *group = &unpacker->group;
    size_t escapes;
    const uint8_t *planes = take(rest, STK_DC_PLANES * stk_plane_bytes(group->blocks));
    int result = planes ? read_levels(unpacker, rest, group->dc_values, group->blocks, &escapes)
                        : STK_DECODE_CORRUPT;
    const uint8_t *at = result ? NULL : take(rest, 2 * escapes);
    if (!at) {
        return result ? result : STK_DECODE_CORRUPT;
    }
    unpacker->kernels->unpack_dc(group->dc, planes, group->dc_values, group->blocks);
    const uint32_t *places = unpacker->places.data;
    for (size_t i = 0; i < escapes; i++) {
        group->dc[places[i]] = (int16_t)stk_get_little(at + 2 * i, 2);
    }
    return STK_DECODE_OK;
}

static int read_escapes(struct stk_unpacker *unpacker, struct rest *rest, size_t count)
{
    struct stk_form_group *group = &unpacker->group;
    const uint8_t *at = take(rest, 2 * count);
    if (!at || !stk_form_group_reserve_wide(group, count)) {
        return at ? STK_DECODE_MEMORY : STK_DECODE_CORRUPT;
    }
    const uint32_t *places = unpacker->places.data;
    for (size_t i = 0; i < count; i++) {
        group->wide[i] = (struct stk_wide){places[i], (int16_t)stk_get_little(at + 2 * i, 2)};
    }
    group->wide[count].at = STK_WIDE_END;
    return STK_DECODE_OK;
}

static int read_values(struct stk_unpacker *unpacker, struct rest *rest)
{
    struct stk_form_group *group = &unpacker->group;
    size_t escapes;
    if (!stk_form_group_reserve_values(group, group->count)) {
        return STK_DECODE_MEMORY;
    }
    int result = read_levels(unpacker, rest, group->values, group->count, &escapes);
    return result ? result : read_escapes(unpacker, rest, escapes);
}

int stk_unpacker_read(struct stk_unpacker *unpacker, const uint8_t *begin, const uint8_t *end)
{
    struct rest rest = {begin, end};
    if (!stk_form_group_reserve_blocks(&unpacker->group, unpacker->group.blocks)) {
        return STK_DECODE_MEMORY;
    }
    int result = read_masks(unpacker, &rest) ? STK_DECODE_OK : STK_DECODE_CORRUPT;
    result = result ? result : read_dc(unpacker, &rest);
    result = result ? result : read_values(unpacker, &rest);
    return !result && rest.at != rest.end ? STK_DECODE_CORRUPT : result;
}

void stk_unpacker_free(struct stk_unpacker *unpacker, size_t but)
{
    stk_form_group_free(&unpacker->group, but);
    stk_array_free(&unpacker->levels[0], but);
    stk_array_free(&unpacker->levels[1], but);
    stk_array_free(&unpacker->places, but);
}
