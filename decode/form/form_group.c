/* The memory of a group. */
#include "decode/form/form_group.h"

bool stk_form_group_reserve_blocks(struct stk_form_group *group, size_t blocks)
{
    blocks += STK_GROUP_SLACK;
    group->masks = stk_room_get(&group->masks_room, blocks * sizeof *group->masks);
    group->dc = stk_room_get(&group->dc_room, blocks * sizeof *group->dc);
    group->dc_values = stk_room_get(&group->dc_values_room, blocks);
    return group->masks && group->dc && group->dc_values;
}

bool stk_form_group_reserve_values(struct stk_form_group *group, size_t values)
{
    group->values = stk_room_get(&group->values_room, values + STK_GROUP_SLACK + STK_VALUE_SLACK);
    return group->values;
}

bool stk_form_group_reserve_wide(struct stk_form_group *group, size_t wide)
{
    group->wide = stk_room_get(&group->wide_room, (wide + 1) * sizeof *group->wide);
    return group->wide;
}

void stk_form_group_free(struct stk_form_group *group, size_t but)
{
    stk_room_free(&group->masks_room, but);
    stk_room_free(&group->dc_room, but);
    stk_room_free(&group->dc_values_room, but);
    stk_room_free(&group->values_room, but);
    stk_room_free(&group->wide_room, but);
}
