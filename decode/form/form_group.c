/* The memory of a group. */
#include "decode/form/form_group.h"

bool stk_form_group_reserve_blocks(struct stk_form_group *group, size_t blocks)
{
    blocks += STK_GROUP_SLACK;
    group->masks = stk_array_get(&group->masks_array, blocks * sizeof *group->masks);
    group->dc = stk_array_get(&group->dc_array, blocks * sizeof *group->dc);
    group->dc_values = stk_array_get(&group->dc_values_array, blocks);
    return group->masks && group->dc && group->dc_values;
}

bool stk_form_group_reserve_values(struct stk_form_group *group, size_t values)
{
    group->values = stk_array_get(&group->values_array, values + STK_GROUP_SLACK + STK_VALUE_SLACK);
    return group->values;
}

bool stk_form_group_reserve_wide(struct stk_form_group *group, size_t wide)
{
    group->wide = stk_array_get(&group->wide_array, (wide + 1) * sizeof *group->wide);
    return group->wide;
}

void stk_form_group_free(struct stk_form_group *group, size_t but)
{
    stk_array_free(&group->masks_array, but);
    stk_array_free(&group->dc_array, but);
    stk_array_free(&group->dc_values_array, but);
    stk_array_free(&group->values_array, but);
    stk_array_free(&group->wide_array, but);
}
